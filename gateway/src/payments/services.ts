/** The payment functions that routes use. */
import type { CreditAlerts } from "./credit-alerts.ts";
import type { Payments } from "./payments.ts";

export interface PaymentServices {
  alerts: CreditAlerts;
  /** Undefined if credit cannot be bought. */
  payments: Payments | undefined;
}
