/**
 * Parses the environment once, and reports every mistake. No other code reads process.env. Each folder declares its
 * settings in its own `config.ts`. This file joins them, and checks rules that concern several folders.
 */
import { join, resolve } from "node:path";
import { z } from "zod";
import { accountSettings } from "./accounts/config.ts";
import { drainSettings } from "./assemble/config.ts";
import { logSettings, traceSettings } from "./base/config.ts";
import { readSecretFiles } from "./base/secret-files.ts";
import type { EnvironmentVariables, SettingsDomain, SettingValues } from "./base/settings.ts";
import { databaseSettings } from "./db/config.ts";
import { dispatchSettings } from "./dispatch/config.ts";
import { fleetSettings } from "./fleet/config.ts";
import { historySettings } from "./history/config.ts";
import { httpSettings } from "./http/config.ts";
import { inferenceSettings } from "./inference/config.ts";
import { keySettings } from "./keys/config.ts";
import { ledgerSettings } from "./ledger/config.ts";
import { limitSettings } from "./limits/config.ts";
import { catalogueSettings } from "./metering/config.ts";
import { operatorSettings } from "./operators/config.ts";
import { paymentSettings } from "./payments/config.ts";
import { planeSettings } from "./plane/config.ts";
import { siteSettings } from "./site/config.ts";
import { trustSettings } from "./trust/config.ts";
import { workerSettings } from "./workers/config.ts";

/** All domains of settings, in the order of docs/operators/settings.md. */
const ALL = [
  ...([
    httpSettings,
    workerSettings,
    databaseSettings,
    limitSettings,
    keySettings,
    accountSettings,
    planeSettings,
    catalogueSettings,
    inferenceSettings,
    dispatchSettings,
    ledgerSettings,
    drainSettings,
  ] as const),
  ...([
    fleetSettings,
    trustSettings,
    paymentSettings,
    operatorSettings,
    historySettings,
    siteSettings,
    logSettings,
    traceSettings,
  ] as const),
] as const;
export const SETTINGS_DOMAINS = ALL as unknown as SettingsDomain[];

type Joined<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer I) => void ? I : never;
type Environment = Joined<SettingValues<(typeof ALL)[number]["settings"]>>;
type Parts = Joined<ReturnType<(typeof ALL)[number]["config"]>>;

const declared = SETTINGS_DOMAINS.flatMap(({ settings }) => Object.entries(settings));
const SECRETS = declared.filter(([, { secret }]) => secret === true).map(([name]) => name);
const RETIRED: Record<string, string> = Object.assign({}, ...SETTINGS_DOMAINS.map(({ retired }) => retired));
const Environment = z.object(Object.fromEntries(declared.map(([name, { parser }]) => [name, parser])));

/** The names of all environment variables. */
export const SETTING_NAMES: string[] = [...declared.map(([name]) => name), ...SECRETS.map((name) => `${name}_FILE`)];

export type Config = ReturnType<typeof configOf>;

export class ConfigError extends Error {
  override name = "ConfigError";
  readonly mistakes: string[];
  constructor(mistakes: string[]) {
    super(`Configuration: ${mistakes.join("; ")}`);
    this.mistakes = mistakes;
  }
}

/** Finds the database's URL for commands that need nothing else: DATABASE_URL, or the content of DATABASE_URL_FILE. */
export function findDatabaseUrl({ DATABASE_URL = "", DATABASE_URL_FILE = "" }: EnvironmentVariables): string {
  const given = {
    ...(DATABASE_URL !== "" && { DATABASE_URL }),
    ...(DATABASE_URL_FILE !== "" && { DATABASE_URL_FILE }),
  };
  const { variables, mistakes } = readSecretFiles(given, ["DATABASE_URL"]);
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  if (variables.DATABASE_URL === undefined)
    throw new ConfigError(["DATABASE_URL must be set to the database to migrate"]);
  return variables.DATABASE_URL;
}

export function parseConfig(env: EnvironmentVariables): Config {
  // An empty variable counts as not set, because container configurations write unset variables that way.
  const set = Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== "");
  const { variables, mistakes } = readSecretFiles(Object.fromEntries(set), SECRETS);
  for (const [name, now] of Object.entries(RETIRED)) {
    if (variables[name] !== undefined) mistakes.push(`${name} is no longer a setting: ${now}. Remove the variable`);
  }
  const { data, error } = Environment.safeParse(variables);
  mistakes.push(...(error?.issues ?? []).map((issue) => `${issue.path.join(".")} ${issue.message}`));
  for (const { mistakes: rules } of SETTINGS_DOMAINS) mistakes.push(...(rules?.(variables) ?? []));
  mistakes.push(...mistakesAcross(variables, data as Environment | undefined));
  if (data === undefined || mistakes.length > 0) throw new ConfigError(mistakes);
  return configOf(data as Environment);
}

/** Checks rules between settings that different source folders declare. */
function mistakesAcross(variables: EnvironmentVariables, e: Environment | undefined): string[] {
  const mistakes: string[] = [];
  if (variables.DATABASE_URL !== undefined && variables.KEY_PEPPER === undefined) {
    mistakes.push(
      "KEY_PEPPER must be set when DATABASE_URL is set: all gateways share it, and losing it invalidates all keys",
    );
  }
  // Links and redirects use PUBLIC_URL: if they used a request's Host header, its sender could redirect users
  // elsewhere.
  for (const name of ["SMTP_URL", "OIDC_PROVIDERS"]) {
    if (variables[name] !== undefined && variables.PUBLIC_URL === undefined) {
      mistakes.push(`PUBLIC_URL must be set when ${name} is set`);
    }
  }
  if (e !== undefined && (e.HISTORY_DAYS ?? Number.POSITIVE_INFINITY) < e.PAYOUT_HOLD_DAYS) {
    mistakes.push("HISTORY_DAYS must not be less than PAYOUT_HOLD_DAYS: held-back earnings need their request records");
  }
  return mistakes;
}

function configOf(e: Environment) {
  const parts: Parts = Object.assign({}, ...SETTINGS_DOMAINS.map(({ config }) => config(e)));
  const { plane: hub, host, spoolDir = join(e.DATA_DIR, "spool") } = parts;
  return { ...parts, plane: { ...hub, host: hub.host ?? host }, spoolDir: resolve(spoolDir) };
}
