/** Makes IDs and secrets in the provider's format: a prefix and random characters. */

/** A source of random whole numbers: 0 ≤ n < bound. */
export interface Random {
  below(bound: number): number;
}

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Makes an ID such as `cus_4fZ…`. */
export function newId(random: Random, prefix: string, length = 24): string {
  return `${prefix}_${Array.from({ length }, () => BASE62.charAt(random.below(62))).join("")}`;
}
