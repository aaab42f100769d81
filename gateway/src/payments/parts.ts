/** The payment functions that routes use. */
import type { Alerts } from "./alerts.ts";
import type { Payments } from "./payments.ts";

export interface PaymentParts {
  alerts: Alerts;
  /** Undefined if credit cannot be bought. */
  payments: Payments | undefined;
}
