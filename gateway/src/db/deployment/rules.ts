/** The settings that all gateways of a deployment share, and whether those of one gateway fit what the database has. Pure. */

export const SHARED_NAMES = ["pepper", "plane", "limits", "receipts", "mail", "payments"] as const;
export type SharedName = (typeof SHARED_NAMES)[number];

/** What the database has of a setting. */
export interface Recorded {
  value: string;
  /** The one before it, while a change is rolled out: gateways with either are welcome. */
  previous: string | null;
}

/** What a gateway has of it. */
export interface Own {
  /** As it is recorded where nothing is yet. */
  written: () => string;
  is: (recorded: string) => boolean;
  /** The gateway can do without what was recorded, because it has that one beside its own (`KEY_PEPPER_OLD`). */
  replaces?: (recorded: string) => boolean;
  /** It has none beside its own: a replacement that was in flight is over. Settings without `replaces` never say so. */
  isAlone?: boolean;
}

/**
 * `previous`: it fits as long as the change is not finished. `introduces`: its own follows the recorded one. `finishes`: no gateway
 * is to come any more with the one before.
 */
type Judgement = "fits" | "previous" | "introduces" | "finishes" | "differs";

export function judge({ value, previous }: Recorded, own: Own): Judgement {
  if (own.is(value)) return previous !== null && own.isAlone === true ? "finishes" : "fits";
  if (previous !== null) return own.is(previous) ? "previous" : "differs";
  return own.replaces?.(value) === true ? "introduces" : "differs";
}

/** A setting whose value is written as it is. */
export const plain = (value: string): Own => ({ written: () => value, is: (recorded) => recorded === value });

/** The variable by which operators know the setting. */
export const VARIABLES: Record<SharedName, string> = {
  pepper: "KEY_PEPPER",
  plane: "NATS_URL",
  limits: "VALKEY_URL",
  receipts: "RECEIPT_SEED",
  mail: "SMTP_URL",
  payments: "STRIPE_SECRET_KEY",
};

/** A recorded value in words. */
export function inWords(name: SharedName, value: string): string {
  const [kind = "", id = ""] = value.split(" ");
  const words: Record<SharedName, () => string> = {
    pepper: () => "a pepper (only its check value is stored)",
    plane: () => (kind === "nats" ? `NATS, account ${id}` : "the plane inside the gateway"),
    limits: () => (kind === "valkey" ? `limits server ${id}` : "memory of each gateway"),
    receipts: () => `key ${value}`,
    mail: () => (value === "none" ? "no email" : "a mail server"),
    payments: () => (value === "none" ? "no purchases" : `${value} keys`),
  };
  return words[name]();
}

export interface Difference {
  setting: SharedName;
  /** What is wrong, in one sentence without its full stop. */
  what: string;
  remedy: string;
}

export function differenceOf(setting: SharedName, recorded: Recorded, own: Own): Difference {
  const variable = VARIABLES[setting];
  const remedy = `set ${variable} as the other gateways have it; to change it for all of them: tollgate admin deployment set ${setting}`;
  if (setting !== "pepper") {
    const [ours, theirs] = [own.written(), recorded.value].map((value) => inWords(setting, value));
    return { setting, what: `${variable} differs: this gateway has ${ours}, and the deployment ${theirs}`, remedy };
  }
  const what =
    own.replaces?.(recorded.value) === true ||
    (recorded.previous !== null && own.replaces?.(recorded.previous) === true)
      ? `${variable} differs from the one that other gateways are replacing the old pepper with`
      : `${variable} is not the pepper of this database: no API key would be valid`;
  return { setting, what, remedy };
}
