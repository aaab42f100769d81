/** The payments that routes use. */
import type { Alerts } from "./alerts.ts";
import type { Payments } from "./payments.ts";

export interface PaymentParts {
  alerts: Alerts;
  /** Undefined: credits cannot be bought. */
  payments: Payments | undefined;
}
