/** Opens the payment provider. Undefined when payments are not configured. */
import type { PaymentProvider } from "../payments/provider.ts";
import type { BuildContext } from "./context.ts";

export async function openProvider({ config, clock }: BuildContext): Promise<PaymentProvider | undefined> {
  if (config.payments === undefined) return undefined;
  // Stripe's library is large, so it is loaded only when credits are sold.
  const { stripeProvider } = await import("../payments/stripe.ts");
  return stripeProvider({ ...config.payments, clock });
}
