/** The packs of credit on offer. A pack costs what it credits. */
import { dollars, type Pico } from "../base/money.ts";

export interface Pack {
  id: string;
  name: string;
  price: Pico;
}

export const PACKS: readonly Pack[] = [5, 20, 100, 500].map((amount) => ({
  id: `pack_${amount}`,
  name: `$${amount} of credits`,
  price: dollars(amount),
}));

export const findPack = (id: string): Pack | undefined => PACKS.find((pack) => pack.id === id);
