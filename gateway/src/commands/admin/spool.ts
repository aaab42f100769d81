/**
 * `tollgate admin spool …`: lists the gateways that left a spool (settlements on disk), and lists and enters the charges
 * in the spool of a gateway that will not return.
 */
import { resolve } from "node:path";
import { CommandError } from "@tollgate/terminal/errors.ts";
import { type Column, formatTable } from "@tollgate/terminal/table-format.ts";
import { z } from "zod";
import { publicIdSuffix } from "../../base/ids.ts";
import { createErrorLog } from "../../base/log.ts";
import { formatExactMicrodollars, type Pico } from "../../base/money.ts";
import { queryOne, row } from "../../db/rows.ts";
import { type GatewayProcesses, type LeftSpool, openGatewayProcesses } from "../../ledger/gateway-processes.ts";
import { openLedger } from "../../ledger/ledger.ts";
import { openSpool } from "../../ledger/spool.ts";
import {
  enterSettlementsInLedger,
  findUnsettledRequests,
  readSpools,
  type SpoolFile,
} from "../../ledger/spool-folder.ts";
import { openAudit } from "../../operators/audit.ts";
import { parseReason } from "./accounts.ts";
import { type AdminCommand, type AdminRun, COMMAND_LINE_ACTOR, REASON_FLAG } from "./admin-run.ts";
import { formatDollars } from "./format-dollars.ts";

const DIR = { DIR: { help: "a gateway's SPOOL_DIR, or a copy of it" } };

export const spoolCommands: Record<string, AdminCommand> = {
  "spool left": {
    help: "list the gateways that are gone or cut off from the database, and may have settlements in their spool",
    example: "",
    run: left,
  },
  "spool list": {
    help: "list the spool files in a directory, with the number of settlements in each and the number not yet in the ledger",
    args: DIR,
    example: "/srv/old/spool",
    run: list,
  },
  "spool enter": {
    help: "enter the settlements of a directory's spool files into the ledger, except those already in the ledger",
    args: DIR,
    more: [
      "You can repeat this command, also while gateways run. It keeps the spool files. Gateways later remove the spool files of gateways that no longer exist.",
      "The command keeps no journal. Keep DIR for REPLAY_WINDOW, and run the command again after a failover that lost commits.",
    ],
    example: "/srv/old/spool",
    run: enter,
  },
  "spool forget": {
    help: "stop reporting a gateway whose spool is lost, with its disk for example: its answered requests stay free",
    args: { GATEWAY: { help: "the gateway's ID, from tollgate admin spool left" } },
    flags: REASON_FLAG,
    example: '06dfk3m2x8v0 --reason "its disk is destroyed"',
    run: forget,
  },
};

const LEFT_COLUMNS: Column<LeftSpool>[] = [
  { title: "GATEWAY", cell: ({ gateway }) => gateway },
  { title: "HOST", cell: ({ host }) => host },
  { title: "DIRECTORY", cell: ({ directory }) => directory },
  { title: "LAST SEEN", cell: ({ seenAt }) => seenAt.toISOString() },
  { title: "REQUESTS", align: "right", cell: ({ requests }) => String(requests) },
];
const LEFT_MAX = 1_000;

const There = row({ isThere: z.boolean() });

/** The database may have an older schema, because commands do not migrate it. */
async function gatewayProcesses({ pool }: AdminRun): Promise<GatewayProcesses> {
  const { isThere } = await queryOne(pool, There, `select to_regclass('gateway_process') is not null as "isThere"`);
  return openGatewayProcesses(pool, () => isThere);
}

async function left(run: AdminRun): Promise<number> {
  const spools = await (await gatewayProcesses(run)).leftSpools(LEFT_MAX);
  if (run.json) {
    const shown = spools.map(({ seenAt, ...spool }) => ({ ...spool, seen_at: seenAt.toISOString() }));
    run.print(JSON.stringify(shown, null, 2));
  } else run.print(spools.length === 0 ? "No gateway left a spool." : formatTable(LEFT_COLUMNS, spools, run.terminal));
  return 0;
}

async function forget(run: AdminRun): Promise<number> {
  const { args, json, print } = run;
  const [gateway = ""] = args;
  const details = { reason: parseReason(run) };
  const act = { operator: COMMAND_LINE_ACTOR, action: "spool.forget", subject: gateway, details };
  const processes = await gatewayProcesses(run);
  if (!(await openAudit(run).record(act, () => processes.forget(gateway))))
    throw new CommandError(`the database has no gateway "${gateway}"`, {
      next: "tollgate admin spool left lists the gateways that left a spool",
    });
  print(json ? JSON.stringify({ forgotten: gateway }) : `Gateway ${gateway} is no longer reported.`);
  return 0;
}

interface Shown extends Omit<SpoolFile, "settlements"> {
  settlements: number;
  waiting: number;
  charge: Pico;
}

const COLUMNS: Column<Shown>[] = [
  { title: "FILE", cell: ({ name }) => name },
  { title: "HOST", cell: ({ owner }) => owner.host },
  { title: "WRITTEN", cell: ({ writtenAt }) => writtenAt.toISOString() },
  { title: "SETTLEMENTS", align: "right", cell: ({ settlements }) => String(settlements) },
  { title: "WAITING", align: "right", cell: ({ waiting }) => String(waiting) },
  { title: "CHARGES", align: "money", cell: ({ charge }) => formatDollars(charge) },
  { title: "UNREADABLE", align: "right", cell: ({ damaged, foreign }) => String(damaged + foreign) },
];

async function list(run: AdminRun): Promise<number> {
  const files: Shown[] = [];
  for (const { settlements, ...file } of await spoolsOf(run)) {
    const { waiting, charge } = await findUnsettledRequests(run.pool, settlements);
    files.push({ ...file, settlements: settlements.length, waiting: waiting.length, charge });
  }
  if (run.json) {
    const shown = files.map(({ name, owner, writtenAt, charge, ...counts }) => ({
      ...{ file: name, host: owner.host, gateway: owner.gatewayId, written_at: writtenAt.toISOString() },
      ...counts,
      charge_micro: formatExactMicrodollars(charge),
    }));
    run.print(JSON.stringify(shown, null, 2));
  } else run.print(files.length === 0 ? "No spool files." : formatTable(COLUMNS, files, run.terminal));
  return 0;
}

async function enter(run: AdminRun): Promise<number> {
  const directory = directoryOf(run);
  const files = await spoolsOf(run);
  const unreadable = files.reduce((sum, { damaged, foreign }) => sum + damaged + foreign, 0);
  const details = { directory, files: files.length };
  const act = { operator: COMMAND_LINE_ACTOR, action: "spool.enter", subject: "ledger", details };
  const counts = await openAudit(run).record(act, async () => {
    const [gatewayId, log, { clock }] = [publicIdSuffix(run.newId()), createErrorLog("warn"), run];
    // Charges that can never be entered are recorded in a file beside the spool's files.
    const spool = await openSpool({ directory, gatewayId, clock, log });
    // The command cannot wait until the database accepts a settlement, so it gives up one that is refused. The spool
    // files stay.
    const ledger = openLedger({ pool: run.pool, clock, gatewayId, spool, log, giveUpAfterMs: 0 });
    try {
      const entered = await enterSettlementsInLedger(
        ledger,
        files.flatMap(({ settlements }) => settlements),
      );
      await noteRead(run, files);
      return entered;
    } finally {
      await ledger.close();
      await spool.close();
    }
  });
  const { entered, known, givenUp } = counts;
  if (run.json) run.print(JSON.stringify({ entered, known, given_up: givenUp, unreadable }));
  else
    run.print(
      `Entered ${entered} settlements into the ledger. It already had ${known}, the database refused ${givenUp} (given-up.jsonl has the reasons), and ${unreadable} lines could not be read.`,
    );
  return givenUp + unreadable === 0 ? 0 : 1;
}

/** Notes which gateways' spools are in the ledger. A gateway of which a line could not be read stays reported. */
async function noteRead(run: AdminRun, files: SpoolFile[]): Promise<void> {
  const processes = await gatewayProcesses(run);
  for (const [gatewayId, itsFiles] of Map.groupBy(files, ({ owner }) => owner.gatewayId))
    if (itsFiles.every(({ damaged, foreign }) => damaged + foreign === 0)) await processes.spoolRead(gatewayId, true);
}

const directoryOf = ({ args: [directory = ""] }: AdminRun): string => resolve(directory);

async function spoolsOf(run: AdminRun): Promise<SpoolFile[]> {
  const directory = directoryOf(run);
  try {
    return await readSpools(directory);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "EACCES" && code !== "ENOTDIR") throw error;
    throw new CommandError(`DIR cannot be read: ${message}`);
  }
}
