/**
 * Defines the settings that all gateways of a deployment share, and decides whether a gateway's values match the
 * recorded ones. Pure.
 */

export const SHARED_SETTING_NAMES = ["pepper", "plane", "limits", "receipts", "mail", "payments"] as const;
export type SharedSettingName = (typeof SHARED_SETTING_NAMES)[number];

/** The recorded value of a setting. */
export interface RecordedSetting {
  value: string;
  /** The previous value during a rollout, when gateways may have either value. */
  previous: string | null;
}

/** A gateway's value of a setting. */
export interface GatewaySetting {
  /** Returns this gateway's value in the form in which the database stores it. */
  written: () => string;
  is: (recorded: string) => boolean;
  /** Whether the recorded value is this gateway's previous one, set beside the new one (`KEY_PEPPER_OLD`). */
  replaces?: (recorded: string) => boolean;
  /**
   * True if no other value of this setting is configured beside the current one, so its replacement is finished.
   * Settings without `replaces` omit this.
   */
  isAlone?: boolean;
}

/**
 * How a gateway's value relates to the recorded setting. `previous`: it is the previous value, accepted until the
 * change is finished. `introduces`: it replaces the recorded value. `finishes`: it is the recorded value, and the
 * previous one is no longer accepted.
 */
type Judgement = "fits" | "previous" | "introduces" | "finishes" | "differs";

export function judgeSetting({ value, previous }: RecordedSetting, own: GatewaySetting): Judgement {
  if (own.is(value)) return previous !== null && own.isAlone === true ? "finishes" : "fits";
  if (previous !== null) return own.is(previous) ? "previous" : "differs";
  return own.replaces?.(value) === true ? "introduces" : "differs";
}

/** Creates a setting that is stored as plain text. */
export const makePlainSetting = (value: string): GatewaySetting => ({
  written: () => value,
  is: (recorded) => recorded === value,
});

/** The environment variable of each setting. */
export const SHARED_SETTING_VARIABLES: Record<SharedSettingName, string> = {
  pepper: "KEY_PEPPER",
  plane: "NATS_URL",
  limits: "VALKEY_URL",
  receipts: "RECEIPT_SEED",
  mail: "SMTP_URL",
  payments: "STRIPE_SECRET_KEY",
};

/** The setting of a gateway whose limits server has no ID and is not the recorded server. */
export const VALKEY_WITHOUT_ID = "valkey";

/** Formats a recorded value for display, without secrets. */
export function formatSettingValue(name: SharedSettingName, value: string): string {
  const [kind = "", id = ""] = value.split(" ");
  const words: Record<SharedSettingName, () => string> = {
    pepper: () => "a pepper (only a hash of it is stored)",
    plane: () => (kind === "nats" ? `NATS, account ${id}` : "an embedded dispatch plane"),
    limits: () => {
      if (value === VALKEY_WITHOUT_ID) return "a limits server (Valkey) that has no ID yet";
      return kind === "valkey" ? `limits server ${id}` : "no limits server (each gateway counts in its memory)";
    },
    receipts: () => `key ${value}`,
    mail: () => (value === "none" ? "no email" : "a mail server"),
    payments: () => (value === "none" ? "no purchases" : `${value} keys`),
  };
  return words[name]();
}

export interface SettingDifference {
  setting: SharedSettingName;
  /** The mismatch, as one sentence without a full stop. */
  what: string;
  remedy: string;
}

export function describeDifference(
  setting: SharedSettingName,
  recorded: RecordedSetting,
  own: GatewaySetting,
): SettingDifference {
  const variable = SHARED_SETTING_VARIABLES[setting];
  const remedy = `set ${variable} to the value of the other gateways; to change it for all of them: tollgate admin deployment set ${setting}`;
  if (setting !== "pepper") {
    const [ours, theirs] = [own.written(), recorded.value].map((value) => formatSettingValue(setting, value));
    return { setting, what: `${variable} differs: this gateway has ${ours}, and the deployment ${theirs}`, remedy };
  }
  const what =
    own.replaces?.(recorded.value) === true ||
    (recorded.previous !== null && own.replaces?.(recorded.previous) === true)
      ? `${variable} differs from the one that other gateways are replacing the old pepper with`
      : `${variable} is not the pepper of this database: no API key would be valid`;
  return { setting, what, remedy };
}
