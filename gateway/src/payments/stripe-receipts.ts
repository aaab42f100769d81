/** Links to Stripe's receipt of a charge, and to its invoice if there is one. */
import type Stripe from "stripe";
import type { PaymentProvider } from "./payment-provider.ts";

interface ReceiptsOptions {
  stripe: Stripe;
  invoices: boolean;
  asked: <T>(work: Promise<T>) => Promise<T>;
}

export function stripeReceipts({ stripe, invoices, asked }: ReceiptsOptions): PaymentProvider["receipts"] {
  return async ({ session, payment }) => {
    const { latest_charge: charge } = await asked(
      stripe.paymentIntents.retrieve(payment, { expand: ["latest_charge"] }),
    );
    const receipt = charge === null || typeof charge === "string" ? null : charge.receipt_url;
    return { receipt: page(receipt), invoice: invoices && session !== null ? await invoiceOf(session) : null };
  };

  async function invoiceOf(session: string): Promise<string | null> {
    const { invoice } = await asked(stripe.checkout.sessions.retrieve(session, { expand: ["invoice"] }));
    return invoice === null || typeof invoice === "string" ? null : page(invoice.invoice_pdf ?? null);
  }
}

/** Only http and https URLs are passed on to browsers. */
function page(url: string | null): string | null {
  const protocol = typeof url === "string" ? URL.parse(url)?.protocol : undefined;
  return protocol === "https:" || protocol === "http:" ? url : null;
}
