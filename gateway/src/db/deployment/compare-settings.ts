/**
 * Compares a gateway's settings with those recorded for the deployment. The first gateway records all of its settings.
 * A later gateway records a new pepper when it replaces the recorded one.
 */
import type pg from "pg";
import {
  describeDifference,
  type GatewaySetting,
  judgeSetting,
  type RecordedSetting,
  type SettingDifference,
  SHARED_SETTING_NAMES,
  type SharedSettingName,
} from "./setting-rules.ts";
import {
  changeSharedSetting,
  confirmSharedSetting,
  readSharedSettings,
  recordInitialSettings,
  type StoredSettings,
} from "./shared-settings-record.ts";

/**
 * The gateway's settings. A setting that is unknown at the moment, or that does not apply, is left out and not
 * compared.
 */
export type GatewaySettings = Partial<Record<SharedSettingName, GatewaySetting>>;

export interface SettingsComparison {
  differences: SettingDifference[];
  /** Settings for which this gateway still has the previous value. */
  behind: SharedSettingName[];
  /**
   * The recorded settings that the comparison wrote, for the log. `recorded`: for the first time. `began`, `finished`: a
   * change that old and new gateways overlap in. `made`: changed at once.
   */
  changes: { setting: SharedSettingName; change: "recorded" | "began" | "finished" | "made" }[];
}

interface CompareOptions {
  pool: pg.Pool;
  own: (stored: StoredSettings) => Promise<GatewaySettings>;
  /**
   * True if the database is private to this gateway. Then only a different pepper is reported; other different settings
   * are recorded.
   */
  isOnly: boolean;
  /** Whether to record missing settings. True only when the gateway is certain that it belongs to this database. */
  records: boolean;
}

export async function compareSharedSettings({
  pool,
  own: tell,
  isOnly,
  records,
}: CompareOptions): Promise<SettingsComparison> {
  let stored = await readSharedSettings(pool);
  let own = await tell(stored);
  const compared: SettingsComparison = { differences: [], behind: [], changes: [] };
  const missing = SHARED_SETTING_NAMES.filter((name) => own[name] !== undefined && stored[name] === undefined);
  if (records && missing.length > 0) {
    await recordInitialSettings(
      pool,
      missing.map((name) => [name, (own[name] as GatewaySetting).written()]),
    );
    stored = await readSharedSettings(pool);
    own = await tell(stored);
    compared.changes.push(...missing.map((setting) => ({ setting, change: "recorded" as const })));
  }
  for (const setting of SHARED_SETTING_NAMES) {
    const [its, recorded] = [own[setting], stored[setting]];
    if (its !== undefined && recorded !== undefined)
      await settle(compared, { pool, isOnly, setting, own: its, recorded });
  }
  return compared;
}

interface One extends Pick<CompareOptions, "pool" | "isOnly"> {
  setting: SharedSettingName;
  own: GatewaySetting;
  recorded: RecordedSetting;
}

async function settle(compared: SettingsComparison, { pool, isOnly, setting, own, recorded }: One): Promise<void> {
  const change = async (to: RecordedSetting, as: SettingsComparison["changes"][number]["change"]): Promise<void> => {
    await changeSharedSetting(pool, setting, { from: recorded, to });
    compared.changes.push({ setting, change: as });
  };
  const found = judgeSetting(recorded, own);
  if (found === "introduces") await change({ value: own.written(), previous: recorded.value }, "began");
  if (found === "finishes") await change({ value: recorded.value, previous: null }, "finished");
  if (found === "previous") compared.behind.push(setting);
  if (found === "differs" && isOnly && setting !== "pepper")
    await change({ value: own.written(), previous: null }, "made");
  else if (found === "differs") compared.differences.push(describeDifference(setting, recorded, own));
  if (setting === "limits" && own.is(recorded.value)) await confirmSharedSetting(pool, setting, recorded.value);
}
