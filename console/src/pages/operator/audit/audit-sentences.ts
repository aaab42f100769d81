/** Describes entries of the audit log in sentences. Pure. */
import type { OperatorAction } from "../../../api/answer-types.ts";
import { formatExactDollars, parseMicro } from "../../../dollar-amounts.ts";

type Details = Record<string, unknown>;

interface Words {
  /** The action's name in lists. */
  name: string;
  /** `did`: past tense, such as "granted $5.00 to", before the name of what was changed. `todo`: the infinitive, "grant $5.00 to". */
  did: (details: Details) => string;
  todo: (details: Details) => string;
  /** The text after the name of what was changed, such as "until May 3". */
  after?: string;
  /** Omits that name, because the text already contains it. */
  alone?: boolean;
  /** Names of details that the text already contains. */
  told?: string[];
}

const plain = (name: string, did: string, todo: string, more: Partial<Words> = {}): Words => ({
  name,
  did: () => did,
  todo: () => todo,
  ...more,
});
const dollars = ({ amount_micro: micro }: Details): string =>
  typeof micro === "string" ? formatExactDollars(parseMicro(micro)) : "credit";
const markWords = ({ mark_micro: micro }: Details): string =>
  ` to ${typeof micro === "string" ? formatExactDollars(parseMicro(micro)) : "none"}`;
const quoted = ({ name }: Details): string => (typeof name === "string" ? ` “${name}”` : "");

const ACTIONS: Record<string, Words> = {
  "account.grant": {
    name: "Grant credit",
    did: (details) => `granted ${dollars(details)} to`,
    todo: (details) => `grant ${dollars(details)} to`,
    told: ["amount_micro"],
  },
  "request.read": plain("Look up a request", "looked up the request", "look up the request"),
  "account.suspend": plain("Suspend an account", "suspended", "suspend"),
  "account.restore": plain("Restore an account", "restored", "restore"),
  "account.delete": plain("Delete an account", "deleted their account", "delete their account"),
  "payout_method.set": plain("Set a payout method", "set the payout method of", "set the payout method of"),
  "payout_method.remove": plain(
    "Remove a payout method",
    "removed the payout method of",
    "remove the payout method of",
  ),
  "person.delete": plain("Delete a person", "deleted themselves,", "delete themselves,"),
  "account.alert": {
    name: "Set a low-credit alert",
    did: (details) => `set the low-credit alert${markWords(details)} for`,
    todo: (details) => `set the low-credit alert${markWords(details)} for`,
    told: ["mark_micro"],
  },
  "account.top_up_off": plain(
    "Turn automatic top-up off",
    "turned off automatic top-up for",
    "turn off automatic top-up for",
  ),
  "account.open": {
    name: "Create an account",
    did: (details) => `created the account${quoted(details)}`,
    todo: (details) => `create the account${quoted(details)}`,
    alone: true,
    told: ["name"],
  },
  "key.create": {
    name: "Create a key",
    did: (details) => `created the key${quoted(details)} for`,
    todo: (details) => `create the key${quoted(details)} for`,
    told: ["name"],
  },
  "key.limits": plain("Set a key's limits", "set the limits of the key", "set the limits of the key"),
  "key.set": plain("Change a key", "changed the key", "change the key"),
  "key.rotate": plain("Rotate a key", "rotated the key", "rotate the key"),
  "key.revoke": plain("Revoke a key", "revoked the key", "revoke the key"),
  "host_token.create": {
    name: "Create a host token",
    did: (details) => `created the host token${quoted(details)} for`,
    todo: (details) => `create the host token${quoted(details)} for`,
    told: ["name"],
  },
  "node.quarantine": plain("Quarantine a node", "quarantined the node", "quarantine the node"),
  "node.release": plain("Release a node", "released the node", "release the node", { after: "from quarantine" }),
  "node.clear": plain("Clear a node", "cleared the node", "clear the node", { after: "to receive requests" }),
  "withheld.release": plain(
    "Release withheld shares",
    "released the withheld share of",
    "release the withheld share of",
  ),
  "payout.create": plain("Create a payout", "created a payout", "create a payout", { alone: true }),
  "payout.paid": plain("Mark a payout as paid", "marked the payout", "mark the payout", { after: "as paid" }),
  "operator.create": plain("Make an operator", "made", "make", { after: "an operator" }),
  "operator.remove": plain("Remove an operator", "removed", "remove", { after: "from the operators" }),
  "operator.reset_second_factor": plain(
    "Reset a second factor",
    "reset the second factor of",
    "reset the second factor of",
  ),
  "catalogue.reload": plain("Reload the catalogue", "reloaded the catalogue", "reload the catalogue", { alone: true }),
  "backup.take": plain("Take a backup", "took a backup of the deployment", "take a backup of the deployment"),
  "history.accept": plain(
    "Accept a database history",
    "accepted the history of this database",
    "accept the history of this database",
    { alone: true },
  ),
  "spool.enter": plain(
    "Enter a spool",
    "entered the spool of a gateway into the ledger",
    "enter the spool of a gateway",
    { alone: true },
  ),
  "spool.forget": plain(
    "Give up a spool",
    "gave up the lost spool of the gateway",
    "give up the lost spool of the gateway",
  ),
  "history.retain": plain("Drop old records", "dropped old records of", "drop old records of"),
  "deployment.fork": plain("Fork the deployment", "forked the deployment", "fork the deployment"),
  "secret.rotate": plain("Replace a secret", "replaced the secret", "replace the secret"),
  "secret.forget": plain("Delete an old secret", "deleted the old secret", "delete the old secret"),
  "deployment.adopt": plain(
    "Adopt the dispatch plane",
    "adopted the dispatch plane for",
    "adopt the dispatch plane for",
  ),
};

export const ACTION_NAMES = Object.keys(ACTIONS);
/** The action's name for lists. An unknown action is shown by its code. */
export const nameAction = (action: string): string => ACTIONS[action]?.name ?? action;

interface Sentence {
  /** The text between the operator's name and the subject. */
  before: string;
  /** Whether the subject is shown. */
  subject: boolean;
  after: string;
}

/** For example "granted $5.00 to" Acme ": a welcome", or for a refused action "tried to grant $5.00 to" Acme. */
export function formatAuditSentence({
  action,
  details,
  outcome,
}: Pick<OperatorAction, "action" | "details" | "outcome">): Sentence {
  const words = ACTIONS[action] ?? plain(action, `ran ${action} on`, `run ${action} on`);
  const { did, todo, after, alone = false, told = [] } = words;
  const { reason, note, ...rest } = details;
  const others = detailWords(Object.fromEntries(Object.entries(rest).filter(([name]) => !told.includes(name))));
  const why = [reason, note].find((text) => typeof text === "string" && text !== "");
  return {
    before: outcome === "done" ? did(details) : `${outcome === null ? "started to" : "tried to"} ${todo(details)}`,
    subject: !alone,
    after: `${after === undefined ? "" : ` ${after}`}${others === "" ? "" : ` (${others})`}${why === undefined ? "" : `: ${why}`}`,
  };
}

/** For example "minimum $1.00, in flight 3". Amounts are in dollars, and empty values are omitted. */
function detailWords(details: Details): string {
  return Object.entries(details)
    .flatMap(([name, value]) => {
      if (value === null || value === "") return [];
      if (name.endsWith("_micro")) return amountWords(name, String(value));
      return [`${name.replaceAll("_", " ")} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`];
    })
    .join(", ");
}

/** The amount with its name. Empty for zero, because a limit of zero means no limit. */
function amountWords(name: string, micro: string): string[] {
  const pico = parseMicro(micro);
  return pico === 0n ? [] : [`${name.replace(/_micro$/, "").replaceAll("_", " ")} ${formatExactDollars(pico)}`];
}
