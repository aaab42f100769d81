/** Buying credit, as routes use it. */
import type { Alerts } from "./alerts.ts";
import type { Payments } from "./payments.ts";

export interface PaymentParts {
  alerts: Alerts;
  /** Whether this platform sends email. */
  sendsMail: boolean;
  /** Undefined: credits cannot be bought. */
  payments: Payments | undefined;
}
