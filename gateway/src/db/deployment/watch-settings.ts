/**
 * Checks repeatedly whether a gateway's settings still match the deployment's, because an operator may change them
 * while it serves.
 */
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { SettingsComparison } from "./compare-settings.ts";
import type { SettingDifference } from "./setting-rules.ts";

const LOOK_EVERY_MS = 5_000;

/** Thrown when the gateway must not serve, because its settings differ from the deployment's. */
export class SettingsDifferError extends Error {
  override name = "SettingsDiffer";
  readonly differences: readonly SettingDifference[];
  readonly what: string;
  readonly remedy: string;
  constructor(differences: readonly SettingDifference[]) {
    const what = differences.map((one) => one.what).join("; ");
    super(what);
    this.differences = differences;
    this.what = what;
    this.remedy = differences.map((one) => one.remedy).join("; ");
  }
}

export interface SharedSettings {
  /** The differences found by the last check. */
  differences(): readonly SettingDifference[];
  /** Checks now. Resolves when done; never rejects. */
  look(): Promise<void>;
  /**
   * Called when it is certain that the gateway belongs to this database. Compares the settings at once. From then on,
   * also records in the database those settings for which it has no value yet.
   */
  belongs(): Promise<void>;
  stop(): void;
}

interface WatchOptions {
  compare: (options: { records: boolean }) => Promise<SettingsComparison>;
  clock: Clock;
  log: Log;
}

export function watchSharedSettings({ compare, clock, log }: WatchOptions): SharedSettings {
  let differences: readonly SettingDifference[] = [];
  let told = "";
  let records = false;
  let looking: Promise<void> | undefined;
  const look = (): Promise<void> => {
    looking ??= compare({ records })
      .then((compared) => {
        logSettingChanges(log, compared);
        differences = compared.differences;
        const now = differences.map(({ what }) => what).join("; ");
        if (now !== told) tell(now);
        told = now;
      })
      // Unreachable services are reported elsewhere, and the last result stays valid.
      .catch((error) =>
        log.debug({ err: error }, "could not compare this gateway's settings with the deployment's shared settings"),
      )
      .finally(() => {
        looking = undefined;
      });
    return looking;
  };
  const tell = (now: string): void => {
    if (now === "") log.info("this gateway's settings match the deployment's shared settings again");
    else
      log.error(
        toLogFields(differences),
        "this gateway's settings differ from the deployment's shared settings; not ready until they match",
      );
  };
  const stop = clock.every(LOOK_EVERY_MS, () => void look());
  return {
    differences: () => differences,
    look,
    async belongs() {
      await looking;
      records = true;
      await look();
    },
    stop,
  };
}

/** The differences as log fields, without secrets. */
export const toLogFields = (differences: readonly SettingDifference[]) => ({
  settings: differences.map(({ setting }) => setting),
  reason: differences.map(({ what }) => what).join("; "),
  next: differences.map(({ remedy }) => remedy).join("; "),
});

export function logSettingChanges(log: Log, { changes }: SettingsComparison): void {
  for (const [change, ones] of Map.groupBy(changes, (one) => one.change)) {
    const settings = ones.map(({ setting }) => setting);
    log.info(
      { settings },
      change === "recorded"
        ? "recorded the shared settings of all gateways"
        : `${change} a change of the shared settings of all gateways`,
    );
  }
}
