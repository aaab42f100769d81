/** A sale at the provider: one checkout session, and what became of it. Kept as plain JSON. */
export interface Reversal {
  id: string;
  cents: number;
  status: string;
}

export interface Sale {
  session: string;
  reference: string | null;
  product: string;
  cents: number;
  currency: string;
  successUrl: string;
  cancelUrl: string | null;
  metadata: Record<string, string>;
  created: number;
  state: "open" | "pending" | "paid" | "failed" | "expired";
  payment: string | null;
  charge: string | null;
  refunds: Reversal[];
  disputes: Reversal[];
}

export type NewSale = Pick<
  Sale,
  "reference" | "product" | "cents" | "currency" | "successUrl" | "cancelUrl" | "metadata"
>;

export const refunded = ({ refunds }: Sale): number =>
  refunds.filter(({ status }) => status !== "failed").reduce((sum, { cents }) => sum + cents, 0);

export const refundable = (sale: Sale): number => sale.cents - refunded(sale);
