/** `tollgate admin …`: what an operator does from the shell, on a live system or a stopped one. */
import { parseArgs } from "node:util";
import { systemClock } from "../../base/clock.ts";
import { createErrorLog, type Log } from "../../base/log.ts";
import { parseConfig } from "../../config.ts";
import { findPrivatePostgres, startPrivatePostgres } from "../../db/embedded.ts";
import { openPool } from "../../db/pool.ts";
import type { AdminRun } from "./admin-run.ts";
import { catalogueReload } from "./catalogue-reload.ts";
import { ledgerCheck } from "./ledger-check.ts";

interface AdminCommand {
  help: string;
  /** Returns the exit code. */
  run: (run: AdminRun) => Promise<number>;
}

const COMMANDS: Record<string, AdminCommand> = {
  "catalogue reload": { help: "make every gateway read its catalogue again", run: catalogueReload },
  "ledger check": { help: "prove that the books balance; exit code 1 on any difference", run: ledgerCheck },
};

export async function admin(args: string[]): Promise<number> {
  const { values, positionals } = readFlags(args);
  const command = COMMANDS[positionals.join(" ")];
  if (command === undefined) {
    const known = Object.entries(COMMANDS).map(([name, { help }]) => `  tollgate admin ${name.padEnd(18)} ${help}`);
    console.log(["Usage: tollgate admin COMMAND [--json] [--data DIR]", ...known].join("\n"));
    if (values.help || positionals.length === 0) return 0;
    throw new Error(`there is no command 'admin ${positionals.join(" ")}'`);
  }
  const config = parseConfig({ ...process.env, ...(values.data !== undefined && { DATA_DIR: values.data }) });
  const log = createErrorLog("warn");
  const store = await openStore(config, log);
  const pool = openPool(store.connection, { log, sizeMax: 4 });
  try {
    return await command.run({ pool, json: values.json, print: console.log });
  } finally {
    await pool.end();
    await store.close();
  }
}

/** The configured database, or the private one: the running one where there is one, else started for this command. */
async function openStore(config: ReturnType<typeof parseConfig>, log: Log) {
  if (config.databaseUrl !== undefined) {
    return { connection: { connectionString: config.databaseUrl }, close: async () => {} };
  }
  const { dataDir } = config;
  const running = await findPrivatePostgres({ dataDir });
  if (running !== undefined) return { connection: running, close: async () => {} };
  const postgres = await startPrivatePostgres({ dataDir, log, clock: systemClock });
  return { connection: postgres.connection, close: () => postgres.stop() };
}

function readFlags(args: string[]) {
  return parseArgs({
    args,
    allowPositionals: true,
    options: {
      json: { type: "boolean", default: false },
      data: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
}
