/**
 * `tollgate admin deployment set|finish SETTING`: changes a setting that all gateways must share. `set` takes the value
 * from this command's environment. Gateways with the previous value keep serving until `finish`, so they can be
 * restarted one by one.
 */

import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { type Column, formatTable } from "@tollgate/terminal/table-format.ts";
import { type GatewaySettingsContext, openGatewaySettings } from "../../build/shared-settings.ts";
import type { GatewaySettings } from "../../db/deployment/compare-settings.ts";
import {
  formatSettingValue,
  type GatewaySetting,
  judgeSetting,
  SHARED_SETTING_NAMES,
  SHARED_SETTING_VARIABLES,
  type SharedSettingName,
} from "../../db/deployment/setting-rules.ts";
import {
  changeSharedSetting,
  hasSharedSettings,
  readSharedSettings,
  type StoredSetting,
  type StoredSettings,
} from "../../db/deployment/shared-settings-record.ts";
import { openAudit } from "../../operators/audit.ts";
import { loadServerSecrets } from "../../server-secrets.ts";
import { type AdminCommand, type AdminRun, COMMAND_LINE_ACTOR } from "./admin-run.ts";

const NAMES = [...SHARED_SETTING_NAMES, "all"] as const;
const SETTING = { SETTING: { help: NAMES.join(", "), oneOf: NAMES } };

export const sharedSettingCommands: Record<string, AdminCommand> = {
  "deployment set": {
    help: "change a setting that all gateways share to the value in this command's environment",
    args: SETTING,
    flags: { yes: { help: "confirm that the new pepper makes all existing API keys and host tokens invalid" } },
    more: [
      "Run this command with the new settings of a gateway, then restart the gateways one by one with them, then run tollgate admin deployment finish.",
      "For a secret setting, the database stores only a salted hash, not the secret.",
    ],
    example: "limits",
    run: set,
  },
  "deployment finish": {
    help: "finish the change of a shared setting, after which gateways with the old value stop serving",
    args: SETTING,
    example: "limits",
    run: finish,
  },
};

interface ShownSetting extends StoredSetting {
  name: SharedSettingName;
  /** Whether this command's environment contains the same value; undefined if the environment has none. */
  isOurs: boolean | undefined;
}

const COLUMNS: Column<ShownSetting>[] = [
  { title: "SETTING", cell: ({ name }) => name },
  { title: "VALUE", cell: ({ name, value }) => formatSettingValue(name, value) },
  { title: "BEFORE", cell: ({ name, previous }) => (previous === null ? "" : formatSettingValue(name, previous)) },
  { title: "SINCE", cell: ({ changedAt }) => changedAt.toISOString() },
  { title: "HERE", cell: ({ isOurs }) => (isOurs === undefined ? "unknown" : isOurs ? "same" : "DIFFERS") },
];

export const formatSettingTable = (settings: ShownSetting[], { terminal }: Pick<AdminRun, "terminal">): string =>
  formatTable(COLUMNS, settings, terminal);

export const sharedSettingObject = ({ name, value, previous, changedAt, isOurs }: ShownSetting) => ({
  name,
  variable: SHARED_SETTING_VARIABLES[name],
  // The pepper is stored only as a salted hash, which readers cannot use, so it is not printed.
  ...(name !== "pepper" && { value, previous }),
  changing: previous !== null,
  since: changedAt.toISOString(),
  same_here: isOurs ?? null,
});

/** Empty until a gateway of this version or later has recorded its settings. */
export async function listSharedSettings(run: AdminRun): Promise<ShownSetting[]> {
  if (!(await hasSharedSettings(run.pool))) return [];
  const stored = await readSharedSettings(run.pool);
  const own = await withOwn({ ...run, newId: undefined }, ({ tell }) => tell(stored));
  return SHARED_SETTING_NAMES.flatMap((name) => {
    const [setting, its] = [stored[name], own[name]];
    if (setting === undefined) return [];
    const isOurs = its === undefined ? undefined : judgeSetting(setting, its) !== "differs";
    return [{ name, ...setting, isOurs }];
  });
}

async function withOwn<T>(
  { config, newId }: Pick<AdminRun, "config"> & { newId: AdminRun["newId"] | undefined },
  use: (own: GatewaySettingsContext) => Promise<T>,
): Promise<T> {
  const own = await openGatewaySettings({ config, secrets: await loadServerSecrets(config), newId });
  try {
    return await use(own);
  } finally {
    own.close();
  }
}

/** The requested settings for which this command's environment has a value. */
const namesIn = ({ args }: AdminRun, known: Partial<Record<SharedSettingName, unknown>>): SharedSettingName[] =>
  args[0] === "all" ? SHARED_SETTING_NAMES.filter((name) => known[name] !== undefined) : [args[0] as SharedSettingName];

async function set(run: AdminRun): Promise<number> {
  const stored = await storedIn(run);
  // If the limits server has no ID yet, writes one into it.
  const own = await withOwn(run, ({ tell }) => tell(withoutLimits(stored)));
  const names = namesIn(run, own).filter((name) => {
    const [from, its] = [stored[name], ownIn(own, name, run)];
    return from === undefined || from.previous !== null || !its.is(from.value);
  });
  const lost = stored.pepper;
  if (
    names.includes("pepper") &&
    lost !== undefined &&
    !keepsKeys(lost, ownIn(own, "pepper", run)) &&
    !run.switches.has("yes")
  ) {
    throw new UsageError(
      "--yes is missing: KEY_PEPPER is new and KEY_PEPPER_OLD is not the old pepper, so every API key and host token would become invalid",
    );
  }
  for (const name of names) {
    const [from, its] = [stored[name], ownIn(own, name, run)];
    const to = { value: its.written(), previous: previousOf(from, its) };
    const details = {
      from: from === undefined ? null : formatSettingValue(name, from.value),
      to: formatSettingValue(name, to.value),
    };
    const act = { operator: COMMAND_LINE_ACTOR, action: "deployment.set", subject: name, details };
    await openAudit(run).record(act, () => changeSharedSetting(run.pool, name, { from, to }));
  }
  const [which] = run.args;
  const next = `restart the gateways one by one with the new settings, then: tollgate admin deployment finish ${which}`;
  return told(
    run,
    names,
    names.length === 0
      ? "Nothing changed: the deployment's shared settings already have these values."
      : `Changed: ${names.join(", ")}.\nNext: ${next}`,
  );
}

/** The value with which running gateways continue. Setting this value again undoes the change. */
function previousOf(from: StoredSetting | undefined, own: GatewaySetting): string | null {
  if (from === undefined) return null;
  return own.is(from.value) ? from.previous : from.value;
}

const keepsKeys = ({ value, previous }: StoredSetting, own: GatewaySetting): boolean =>
  [value, previous].some((one) => one !== null && (own.is(one) || own.replaces?.(one) === true));

/**
 * Removes the recorded limits server, so that an empty server gets a new ID and is not mistaken for the recorded one.
 */
const withoutLimits = ({ limits: _, ...others }: StoredSettings): StoredSettings => others;

function ownIn(own: GatewaySettings, name: SharedSettingName, { config }: AdminRun): GatewaySetting {
  const its = own[name];
  if (its !== undefined) return its;
  const next =
    name === "limits" && config.valkeyUrl !== undefined
      ? "check VALKEY_URL, and that the server runs"
      : `set ${SHARED_SETTING_VARIABLES[name]} in this command's environment`;
  throw new CommandError(`cannot determine the new value of ${SHARED_SETTING_VARIABLES[name]}`, { next });
}

async function finish(run: AdminRun): Promise<number> {
  const stored = await storedIn(run);
  const names = namesIn(run, stored).filter((name) => stored[name]?.previous != null);
  if (names.length === 0)
    throw new CommandError(`no change of the setting "${run.args[0]}" is in progress`, {
      next: "tollgate admin deployment show",
    });
  for (const name of names) {
    const from = stored[name] as StoredSetting;
    const details = { ended: formatSettingValue(name, from.previous ?? "") };
    const act = { operator: COMMAND_LINE_ACTOR, action: "deployment.finish", subject: name, details };
    await openAudit(run).record(act, () =>
      changeSharedSetting(run.pool, name, { from, to: { value: from.value, previous: null } }),
    );
  }
  return told(run, names, "The change is finished. Gateways that still have the old value stop serving.");
}

async function storedIn({ pool }: AdminRun): Promise<StoredSettings> {
  if (await hasSharedSettings(pool)) return await readSharedSettings(pool);
  throw new CommandError("this database stores no shared settings, because an older version of Tollgate migrated it", {
    next: "tollgate migrate --finish",
  });
}

function told({ json, print }: AdminRun, changed: SharedSettingName[], text: string): number {
  print(json ? JSON.stringify({ changed }) : text);
  return 0;
}
