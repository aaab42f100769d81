/**
 * `tollgate admin history losses` lists data losses in failovers. `history accept` makes gateways continue with a
 * restored database's history.
 */

import { UsageError } from "@tollgate/terminal/errors.ts";
import { type Column, formatTable } from "@tollgate/terminal/table-format.ts";
import {
  acceptDatabaseHistory,
  type FailoverDataLoss,
  readFailoverDataLosses,
} from "../../db/lineage/failover-data-losses.ts";
import { openAudit } from "../../operators/audit.ts";
import { type AdminCommand, type AdminRun, COMMAND_LINE_ACTOR } from "./admin-run.ts";

export const historyLossCommands: Record<string, AdminCommand> = {
  "history losses": {
    help: "list failovers that lost data: the changes that gateways replayed from their journals, and those still missing, with reasons",
    example: "",
    onAnyHistory: true,
    run: losses,
  },
  "history accept": {
    help: "let gateways use this database although it is not the one that they used before, or is an older copy of it",
    flags: { yes: { help: "confirm that gateways use this database from now on, and that none uses another copy" } },
    more: [
      "Run this after a restore from a backup or a move to another PostgreSQL cluster. Gateways then replay recent changes from their journals on disk.",
    ],
    example: "--yes",
    onAnyHistory: true,
    run: accept,
  },
};

const COLUMNS: Column<FailoverDataLoss>[] = [
  { title: "FOUND", cell: ({ foundAt }) => foundAt.toISOString() },
  { title: "GATEWAY", cell: ({ gateway }) => gateway },
  { title: "TIMELINE", align: "right", cell: ({ timeline }) => String(timeline) },
  { title: "LOST", align: "right", cell: ({ positions }) => `${positions} s` },
  { title: "REPLAYED", cell: ({ entered }) => enteredText(entered) },
  { title: "MISSING", align: "right", cell: ({ notEntered }) => String(notEntered.length) },
];

const enteredText = (entered: FailoverDataLoss["entered"]): string =>
  Object.entries(entered)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(", ") || "nothing";

async function losses({ pool, json, print, terminal }: AdminRun): Promise<number> {
  const found = await readFailoverDataLosses(pool);
  if (json) {
    print(JSON.stringify(found.map(shown), null, 2));
    return 0;
  }
  print(found.length === 0 ? "No failover lost data." : formatTable(COLUMNS, found, terminal));
  for (const { gateway, notEntered } of found) {
    if (notEntered.length > 0) print(`\nNot replayed by ${gateway}:`);
    for (const { kind, id, reason } of notEntered) print(`    ${kind} ${id}: ${reason}`);
  }
  return 0;
}

const shown = ({ epoch, timeline, gateway, foundAt, positions, entered, notEntered }: FailoverDataLoss) => ({
  epoch,
  timeline,
  gateway,
  found_at: foundAt.toISOString(),
  lost_seconds: positions,
  entered,
  missing: notEntered,
});

async function accept(run: AdminRun): Promise<number> {
  if (!run.switches.has("yes"))
    throw new UsageError("--yes is missing: this command makes gateways reject every other copy of the database");
  const act = { operator: COMMAND_LINE_ACTOR, action: "history.accept", subject: "database" };
  const { epoch, system, timeline } = await openAudit(run).record(act, () =>
    acceptDatabaseHistory(run.pool, run.newId),
  );
  run.print(
    run.json
      ? JSON.stringify({ epoch, system, timeline })
      : `Gateways use this database from now on (system identifier ${system}, timeline ${timeline}).`,
  );
  return 0;
}
