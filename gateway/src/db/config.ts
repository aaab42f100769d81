/** Settings of the database and the data directory. */
import { resolve } from "node:path";
import { z } from "zod";
import { choiceSetting, declareSettings, numberSetting, parsedSetting, textSetting } from "../base/settings.ts";
import { parseDatabaseUrl } from "./database-url.ts";

const DatabaseUrl = z.string().superRefine((url, context) => {
  try {
    parseDatabaseUrl(url);
  } catch (error) {
    context.addIssue({ code: "custom", message: (error as Error).message });
  }
});

interface DatabaseConfig {
  dataDir: string;
  /** The database's URL. Undefined: the private PostgreSQL under the data directory. */
  databaseUrl: string | undefined;
  /** `checked`: the gateway refuses a database that can lose confirmed commits. `assumed`: it does not check. */
  databaseDurability: "checked" | "assumed";
  databasePoolMax: number;
  /** The gateway is not ready while its clock's maximum error exceeds this many milliseconds. */
  clockUncertaintyMsMax: number;
  /** The number of idle connections that stay open, so that the console's queries need no new one. */
  databasePoolMin: number;
  /** At the start `auto` migrates the database; `check` only verifies its schema. */
  migrate: "auto" | "check";
}

export const databaseSettings = declareSettings({
  title: "Database",
  note: `In addition to \`DATABASE_POOL_MAX\`, a gateway uses four connections for the ledger, one for notifications and one for health checks, and up to
eight more while other sessions lock accounts. A browser opens up to six requests in parallel, and opening a database connection is slow, so
\`DATABASE_POOL_MIN\` is 6.`,
  settings: {
    DATA_DIR: textSetting({
      default: "./data",
      help: "Directory with the generated secrets, the spool (settlements that wait for the database) and, without `DATABASE_URL`, the gateway's private PostgreSQL.",
    }),
    DATABASE_URL: parsedSetting(DatabaseUrl, {
      rule: "begin with postgres:// or postgresql://, as libpq reads it",
      without: "a private PostgreSQL in `DATA_DIR`",
      secret: true,
      help: "The database: PostgreSQL 15 or newer.",
    }),
    DATABASE_DURABILITY: choiceSetting(["checked", "assumed"], {
      default: "checked",
      help: "`checked` refuses a database with `fsync`, `full_page_writes` or `synchronous_commit` off, because a crash could lose confirmed charges; `assumed` skips this check, for storage that makes these settings safe and for tests.",
    }),
    DATABASE_POOL_MAX: numberSetting({
      ...{ default: 10, unit: "connections", min: 2, max: 100 },
      help: "Maximum number of pooled database connections of this gateway, besides its own connections for the ledger, notifications and health checks.",
    }),
    DATABASE_POOL_MIN: numberSetting({
      ...{ default: 6, unit: "connections", min: 0, max: 100 },
      help: "Number of database connections kept open while idle, each with the console's prepared statements.",
    }),
    CLOCK_UNCERTAINTY_MAX_S: numberSetting({
      ...{ default: 5, unit: "s", min: 1, max: 60 },
      help: "`/readyz` returns 503 while the gateway's reading of the database's clock may be wrong by more than this time.",
    }),
    MIGRATE: choiceSetting(["auto", "check"], {
      default: "auto",
      help: "Whether a gateway migrates the database when it starts, or only checks the schema and leaves migrations to `tollgate migrate`.",
      see: "[Upgrades](upgrades.md)",
    }),
  },
  mistakes: ({ MIGRATE, DATABASE_URL }) =>
    MIGRATE === "check" && DATABASE_URL === undefined
      ? [
          "MIGRATE must be auto without DATABASE_URL: the gateway then has a private database, which only the gateway can migrate",
        ]
      : [],
  config: (e): DatabaseConfig => ({
    dataDir: resolve(e.DATA_DIR),
    databaseUrl: e.DATABASE_URL,
    databaseDurability: e.DATABASE_DURABILITY,
    databasePoolMax: e.DATABASE_POOL_MAX,
    databasePoolMin: e.DATABASE_POOL_MIN,
    clockUncertaintyMsMax: e.CLOCK_UNCERTAINTY_MAX_S * 1000,
    migrate: e.MIGRATE,
  }),
});
