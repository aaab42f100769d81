/** The packs of credit that can be bought, besides custom amounts. The price equals the credit. */
import { dollars, type Pico } from "../base/money.ts";

export interface CreditPack {
  id: string;
  name: string;
  price: Pico;
}

export const CREDIT_PACKS: readonly CreditPack[] = [5, 20, 100, 500].map((amount) => ({
  id: `pack_${amount}`,
  name: `$${amount} of credits`,
  price: dollars(amount),
}));

/** The pack IDs of a custom amount and of an automatic top-up. */
export const CUSTOM_PACK = "custom";
export const AUTOMATIC_PACK = "automatic";

export const findPack = (id: string): CreditPack | undefined => CREDIT_PACKS.find((pack) => pack.id === id);
