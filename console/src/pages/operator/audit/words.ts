/** The log's names in words. Pure. */
import { exactDollars, parseMicro } from "../../../money.ts";

const ACTIONS: Record<string, string> = {
  "account.grant": "Granted credit",
  "account.suspend": "Suspended an account",
  "account.restore": "Restored an account",
  "key.limits": "Set a key's limits",
  "key.create": "Created a key",
  "key.set": "Changed a key",
  "key.rotate": "Rotated a key",
  "key.revoke": "Revoked a key",
  "node.quarantine": "Quarantined a node",
  "node.release": "Released a node",
  "payout.create": "Created a payout",
  "payout.paid": "Marked a payout as paid",
};

/** An action that is not known here keeps the name it has. */
export const actionWords = (action: string): string => ACTIONS[action] ?? action;

/** "$5.00, welcome": amounts first and in dollars, people's words last; what is empty is left out. */
export function detailWords(details: Record<string, unknown>): string {
  return Object.entries(details)
    .sort(([a], [b]) => placeOf(a) - placeOf(b))
    .flatMap(([name, value]) => {
      if (value === null || value === "") return [];
      if (name.endsWith("_micro")) return amountWords(name, String(value));
      if (isProse(name)) return [String(value)];
      return [`${name.replaceAll("_", " ")} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`];
    })
    .join(", ");
}

const isProse = (name: string): boolean => name === "reason" || name === "note";
const placeOf = (name: string): number => (name.endsWith("_micro") ? 0 : isProse(name) ? 2 : 1);

/** A bound of zero is none. */
function amountWords(name: string, micro: string): string[] {
  const pico = parseMicro(micro);
  if (name === "amount_micro") return [exactDollars(pico)];
  return pico === 0n ? [] : [`${name.replace(/_micro$/, "").replaceAll("_", " ")} ${exactDollars(pico)}`];
}
