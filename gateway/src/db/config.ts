/** The settings of the database and of the data directory. */
import { resolve } from "node:path";
import { z } from "zod";
import { choice, domain, number, parsed, text } from "../base/settings.ts";

const DatabaseUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, "must begin with postgres:// or postgresql://")
  // Gateways know each other, and each other's versions, by the names of their connections.
  .refine((url) => !/[?&]application_name=/.test(url), "must not set application_name, which Tollgate sets itself");

interface DatabaseConfig {
  dataDir: string;
  /** Undefined: the private PostgreSQL under the data directory. */
  databaseUrl: string | undefined;
  /** `checked`: a database that may lose what it confirmed is refused. */
  databaseDurability: "checked" | "assumed";
  databasePoolMax: number;
  /** So many connections stay open while nothing is asked, and are made ready for the console's questions. */
  databasePoolMin: number;
  /** At the start: `auto` brings the database up to date; `check` only looks whether it can be worked with. */
  migrate: "auto" | "check";
}

export const database = domain({
  title: "Database",
  note: `In addition to \`DATABASE_POOL_MAX\`, a gateway uses four connections for the ledger and two to listen and watch. A browser opens up to
six requests in parallel, and opening a database connection is slow, so \`DATABASE_POOL_MIN\` is 6.`,
  settings: {
    DATA_DIR: text({
      default: "./data",
      help: "Directory of generated secrets, of the spool and, without `DATABASE_URL`, of the private PostgreSQL.",
    }),
    DATABASE_URL: parsed(DatabaseUrl, {
      rule: "begin with postgres:// or postgresql://, without application_name",
      without: "a private PostgreSQL in `DATA_DIR`",
      secret: true,
      help: "The database: PostgreSQL 15 or newer.",
    }),
    DATABASE_DURABILITY: choice(["checked", "assumed"], {
      default: "checked",
      help: "Whether the gateway refuses a database with `fsync`, `full_page_writes` or `synchronous_commit` off, which loses confirmed charges in a crash. `assumed` is for storage that makes this safe, and for tests.",
    }),
    DATABASE_POOL_MAX: number({
      ...{ default: 10, unit: "connections", min: 2, max: 100 },
      help: "Maximum number of database connections of this gateway, not counting the ledger's connections.",
    }),
    DATABASE_POOL_MIN: number({
      ...{ default: 6, unit: "connections", min: 0, max: 100 },
      help: "Number of database connections that stay open while idle, with the console's queries prepared.",
    }),
    MIGRATE: choice(["auto", "check"], {
      default: "auto",
      help: "Whether a gateway migrates the database when it starts, or only checks the schema and leaves migrations to `tollgate migrate`.",
      see: "[Upgrades](upgrades.md)",
    }),
  },
  mistakes: ({ MIGRATE, DATABASE_URL }) =>
    MIGRATE === "check" && DATABASE_URL === undefined
      ? ["MIGRATE must be auto without DATABASE_URL: only the gateway migrates its private database"]
      : [],
  config: (e): DatabaseConfig => ({
    dataDir: resolve(e.DATA_DIR),
    databaseUrl: e.DATABASE_URL,
    databaseDurability: e.DATABASE_DURABILITY,
    databasePoolMax: e.DATABASE_POOL_MAX,
    databasePoolMin: e.DATABASE_POOL_MIN,
    migrate: e.MIGRATE,
  }),
});
