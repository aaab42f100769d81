/** `tollgate migrate`: brings a database up to date and exits. */
import { fileURLToPath } from "node:url";
import { createErrorLog } from "../base/log.ts";
import { ConfigError } from "../config.ts";
import { migrate } from "../db/migrate.ts";
import { openPool } from "../db/pool.ts";
import type { Command } from "./line/command.ts";

export const migrateOnly: Command = {
  help: "bring the database at DATABASE_URL up to date, then exit",
  more: ["A gateway does the same at its start. Several may be started at once."],
  example: "",
  run,
};

async function run(): Promise<number> {
  const connectionString = process.env.DATABASE_URL;
  if (connectionString === undefined) throw new ConfigError(["DATABASE_URL must name the database to migrate"]);
  const log = createErrorLog("warn");
  const pool = openPool({ connectionString }, { log, sizeMax: 2 });
  try {
    const directory = fileURLToPath(new URL("../../sql", import.meta.url));
    const { migrations, functions } = await migrate(pool, { directory, log });
    const applied = [...migrations, ...functions.map((name) => `${name}()`)];
    console.log(applied.length === 0 ? "The database is up to date." : `Applied ${applied.join(", ")}.`);
    return 0;
  } finally {
    await pool.end();
  }
}
