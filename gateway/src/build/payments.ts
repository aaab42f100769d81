/** Opens the payment provider, if payments are configured. */
import type { PaymentProvider } from "../payments/payment-provider.ts";
import type { BuildContext } from "./build-context.ts";

export async function openPaymentProvider({ config, clock }: BuildContext): Promise<PaymentProvider | undefined> {
  if (config.payments === undefined) return undefined;
  // Imported here, because Stripe's library is large and only needed if credit is sold.
  const { stripeProvider } = await import("../payments/stripe.ts");
  return stripeProvider({ ...config.payments, clock });
}
