/** `tollgate admin …`: what an operator does from the shell, on a live system or a stopped one. */
import { parseArgs } from "node:util";
import { systemClock } from "../../base/clock.ts";
import { newIds } from "../../base/ids.ts";
import { createErrorLog, type Log } from "../../base/log.ts";
import { systemRandom } from "../../base/random.ts";
import { parseConfig } from "../../config.ts";
import { findPrivatePostgres, startPrivatePostgres } from "../../db/embedded.ts";
import { openPool } from "../../db/pool.ts";
import { accountCommands } from "./accounts.ts";
import type { AdminCommand } from "./admin-run.ts";
import { catalogueReload } from "./catalogue-reload.ts";
import { deploymentCommands } from "./deployment.ts";
import { keyCommands } from "./keys.ts";
import { ledgerCheck } from "./ledger-check.ts";
import { nodeCommands } from "./nodes.ts";
import { operatorCommands } from "./operators.ts";
import { overview } from "./overview.ts";
import { payoutCommands } from "./payouts.ts";
import { planeInit } from "./plane-init.ts";

const COMMANDS: Record<string, AdminCommand> = {
  overview: { help: "the platform in numbers; --days 7 for a week's traffic", flags: ["days"], run: overview },
  "catalogue reload": { help: "make every gateway read its catalogue again", run: catalogueReload },
  "ledger check": { help: "prove that the books balance; exit code 1 on any difference", run: ledgerCheck },
  ...deploymentCommands,
  ...accountCommands,
  ...keyCommands,
  ...nodeCommands,
  ...operatorCommands,
  ...payoutCommands,
};

/** These need no database and have flags of their own. */
const WITHOUT_STORE: Record<string, { help: string; run: (args: string[]) => Promise<number> }> = {
  "plane init": {
    help: "make keys and files for NATS servers: --dir DIR [--url nats://… | --servers a=HOST,b=HOST,c=HOST]",
    run: planeInit,
  },
};

export async function admin(args: string[]): Promise<number> {
  const twoWords = args.slice(0, 2).join(" ");
  const alone = Object.hasOwn(WITHOUT_STORE, twoWords) ? WITHOUT_STORE[twoWords] : undefined;
  if (alone !== undefined) return await alone.run(args.slice(2));
  const name = Object.hasOwn(COMMANDS, twoWords) ? twoWords : (args[0] ?? "");
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) return help(args);
  const { values, positionals } = readFlags(args.slice(name.split(" ").length), command);
  const due = command.args ?? [];
  if (values.help === true || positionals.length !== due.length) {
    const flags = (command.flags ?? []).map((flag) => `--${flag} ${flag.toUpperCase()}`);
    const switches = (command.switches ?? []).map((flag) => `--${flag}`);
    const usage = `Usage: tollgate admin ${[name, ...due, ...flags, ...switches].join(" ")} [--json] [--data DIR]`;
    if (values.help !== true) throw new Error(`${name} takes ${due.join(" ") || "no arguments"}. ${usage}`);
    console.log(`${usage}\n${command.help}`);
    return 0;
  }
  const { data, json } = values;
  const byName: Record<string, unknown> = values;
  const flags = Object.fromEntries((command.flags ?? []).map((flag) => [flag, byName[flag] as string | undefined]));
  const switches = new Set((command.switches ?? []).filter((flag) => byName[flag] === true));
  const config = parseConfig({ ...process.env, ...(data !== undefined && { DATA_DIR: data }) });
  const log = createErrorLog("warn");
  const store = await openStore(config, log);
  const pool = openPool(store.connection, { log, sizeMax: 4 });
  try {
    const newId = newIds(systemClock, systemRandom());
    return await command.run({ pool, newId, config, json, print: console.log, args: positionals, flags, switches });
  } finally {
    await pool.end();
    await store.close();
  }
}

function help(args: string[]): number {
  const known = Object.entries({ ...COMMANDS, ...WITHOUT_STORE });
  const width = Math.max(...known.map(([name]) => name.length));
  const lines = known.map(([name, { help }]) => `  tollgate admin ${name.padEnd(width)}  ${help}`);
  console.log(["Usage: tollgate admin COMMAND [--json] [--data DIR]", ...lines].join("\n"));
  const [first] = args;
  if (first === undefined || first === "--help" || first === "-h") return 0;
  throw new Error(`there is no command 'admin ${args.slice(0, 2).join(" ")}'`);
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

function readFlags(args: string[], { flags = [], switches = [] }: AdminCommand) {
  const text = { type: "string" } as const;
  const onOrOff = { type: "boolean" } as const;
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        ...Object.fromEntries(flags.map((flag) => [flag, text])),
        ...Object.fromEntries(switches.map((flag) => [flag, onOrOff])),
        json: { type: "boolean", default: false },
        data: text,
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (cause) {
    // Node explains itself over several lines; the first one names the flag.
    throw new Error(`admin: ${(cause as Error).message.split("\n")[0]}`, { cause });
  }
}
