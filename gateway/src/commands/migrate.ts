/** `tollgate migrate`: brings a database up to date and exits; or finishes an upgrade, or tells what would be done. */
import { createErrorLog } from "../base/log.ts";
import { databaseUrlOf } from "../config.ts";
import { type Applied, migrate } from "../db/migrate.ts";
import { SQL_DIRECTORY } from "../db/migrations.ts";
import { planMigration } from "../db/plan.ts";
import { openPool } from "../db/pool.ts";
import { readProgram } from "../db/program.ts";
import { type Command, type Given, UsageError } from "./line/command.ts";
import { shownPlan } from "./migrate-plan.ts";

/** Of `--plan`: there is something to do. 1 is a failure and 2 wrong use, as everywhere. */
const PENDING = 3;

export const migrateOnly: Command = {
  help: "bring the database at DATABASE_URL up to date, then exit",
  flags: {
    plan: { help: "tell what would be done, and change nothing; exit code 3 where there is something" },
    finish: { help: "also what takes away what older gateways need; refused while one is connected" },
    json: { help: "with --plan: as JSON, for scripts" },
  },
  more: [
    "A gateway does the same at its start, unless MIGRATE is check. Several may be started at once.",
    "To upgrade: tollgate migrate, replace the gateways one after the other, tollgate migrate --finish.",
  ],
  example: "--plan",
  run,
};

async function run({ switches }: Given): Promise<number> {
  if (switches.has("plan") && switches.has("finish")) throw new UsageError("--plan and --finish exclude each other");
  if (switches.has("json") && !switches.has("plan")) throw new UsageError("--json goes with --plan");
  const connectionString = databaseUrlOf(process.env);
  const log = createErrorLog("warn");
  const pool = openPool({ connectionString }, { log, sizeMax: 2 });
  try {
    if (switches.has("plan")) {
      const plan = await planMigration(pool, await readProgram());
      console.log(switches.has("json") ? JSON.stringify(plan, null, 2) : shownPlan(plan));
      return plan.migrations.length + plan.functions.length === 0 ? 0 : PENDING;
    }
    const after = switches.has("finish") ? "insist" : "leave";
    console.log(shownRun(await migrate(pool, { directory: SQL_DIRECTORY, log, after })));
    return 0;
  } finally {
    await pool.end();
  }
}

function shownRun({ migrations, functions, left }: Applied): string {
  const applied = [...migrations, ...functions.map((name) => `${name}()`)];
  const done = applied.length === 0 ? "The database is up to date." : `Applied ${applied.join(", ")}.`;
  if (left.length === 0) return done;
  return `${done}\nLeft for when every gateway is of this version: ${left.join(", ")}.\nThen: tollgate migrate --finish`;
}
