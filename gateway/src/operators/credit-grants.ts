/** Grants credit to a builder, limited per grant and by an account's maximum balance. */
import type { Uuid } from "../base/ids.ts";
import { invariant } from "../base/invariant.ts";
import { dollars, type Pico } from "../base/money.ts";
import type { Ledger } from "../ledger/ledger.ts";

export const GRANT_MAX: Pico = dollars(1_000_000);
/** The maximum balance of an account, from the ledger's constraint `within_64_bits`. */
export const BALANCE_MAX: Pico = dollars(9_000_000);

interface CreditGrant {
  id: Uuid;
  accountId: Uuid;
  amount: Pico;
  reason: string;
}

/**
 * Grants credit. Returns `balance_too_large`, without moving anything, if the balance would exceed what the ledger can
 * store.
 */
export async function grantCredit(
  ledger: Pick<Ledger, "transfer">,
  grant: CreditGrant,
): Promise<"granted" | "balance_too_large"> {
  invariant(grant.amount <= GRANT_MAX, "a grant is bounded at the door");
  try {
    const moved = await ledger.transfer({ ...grant, kind: "grant" });
    invariant(moved === "moved", `grant ${grant.id} was ${moved}`);
    return "granted";
  } catch (error) {
    // The constraint decides, not a balance read before, because grants may be concurrent.
    if ((error as { constraint?: string }).constraint === "within_64_bits") return "balance_too_large";
    throw error;
  }
}
