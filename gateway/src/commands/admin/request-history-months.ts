/** `tollgate admin history …`: lists stored and closed months of the request history, and drops old months. */

import { CommandError } from "@tollgate/terminal/errors.ts";
import { type Column, formatTable } from "@tollgate/terminal/table-format.ts";
import { formatExactMicrodollars, type Pico, pico } from "../../base/money.ts";
import {
  type ClosedMonth,
  type HistoryRetention,
  openHistoryRetention,
  type RetentionResult,
} from "../../history/history-retention.ts";
import { openAudit } from "../../operators/audit.ts";
import { type AdminCommand, type AdminRun, COMMAND_LINE_ACTOR } from "./admin-run.ts";
import { formatDollars } from "./format-dollars.ts";

const DRY_RUN = "dry-run";

export const historyCommands: Record<string, AdminCommand> = {
  "history list": {
    help: "list the months of request records, and whether they are kept or deleted (the ledger keeps their sums)",
    example: "",
    run: list,
  },
  "history retain": {
    help: "delete records older than HISTORY_DAYS and REFUSALS_DAYS now; gateways do the same every hour",
    flags: { [DRY_RUN]: { help: "show what would be deleted, and change nothing" } },
    more: [
      "Run this command with a gateway's environment variables: HISTORY_DAYS, REFUSALS_DAYS, HISTORY_EXPORT_DIR, PAYOUT_HOLD_DAYS.",
    ],
    example: `--${DRY_RUN}`,
    run: retain,
  },
};

interface Month {
  month: string;
  state: "kept" | "due" | "waiting" | "closed";
  rows: bigint;
  /** The sums that remain of a closed month. */
  charged: Pico | null;
  /** Why the month is still stored, or the file to which it was exported. */
  note: string;
}

const COLUMNS: Column<Month>[] = [
  { title: "MONTH", cell: ({ month }) => month },
  { title: "STATE", cell: ({ state }) => state },
  { title: "RECORDS", align: "right", cell: ({ rows }) => String(rows) },
  { title: "CHARGED", align: "money", cell: ({ charged }) => (charged === null ? "" : formatDollars(charged)) },
  { title: "NOTE", cell: ({ note }) => note },
];

async function list(run: AdminRun): Promise<number> {
  const retention = retentionOf(run);
  const closed = (await retention.closed()).map(closedMonth);
  return print(run, [...closed, ...(await keptMonths(retention))]);
}

async function retain(run: AdminRun): Promise<number> {
  const { historyDays, refusalsDays } = run.config.retention;
  const retention = retentionOf(run);
  if (historyDays === undefined && refusalsDays === undefined) {
    run.print(
      run.json
        ? JSON.stringify({ refusals: 0, months: [] })
        : "Records are kept forever: neither HISTORY_DAYS nor REFUSALS_DAYS is set.",
    );
    return 0;
  }
  if (run.switches.has(DRY_RUN)) {
    const due = (await keptMonths(retention)).filter(({ state }) => state !== "kept");
    return report(run, { refusals: await retention.refusalsDue(), months: due, verb: "to delete" });
  }
  const details = { history_days: historyDays ?? null, refusals_days: refusalsDays ?? null };
  const act = { operator: COMMAND_LINE_ACTOR, action: "history.retain", subject: "requests", details };
  const done = await openAudit(run).record(act, async () => {
    const retained = await retention.retain();
    if (retained === undefined)
      throw new CommandError("a gateway is deleting old records right now", { next: "try again in a minute" });
    return retained;
  });
  return report(run, { refusals: done.refusals, months: monthsOf(done), verb: "deleted" });
}

const retentionOf = ({ pool, config, clock }: AdminRun): HistoryRetention =>
  openHistoryRetention({
    pool,
    rules: { ...config.retention, payoutHoldDays: config.payoutHoldDays },
    now: () => clock.now(),
  });

async function keptMonths(retention: HistoryRetention): Promise<Month[]> {
  const kept = await retention.kept();
  // Months are dropped from the oldest on, so a month stays while an older one is stored, unless both are dropped now.
  const [oldest] = kept;
  const goes = oldest?.isDue === true && oldest.waits === null;
  return await Promise.all(
    kept.map(async ({ month, isDue, waits }): Promise<Month> => {
      const why = isDue && !goes ? waits : null;
      const state = isDue ? (why === null ? "due" : "waiting") : "kept";
      return { month, state, rows: await retention.rowsOf(month), charged: null, note: why ?? "" };
    }),
  );
}

const closedMonth = ({ month, rows, charged, export: file }: ClosedMonth): Month => ({
  month,
  state: "closed",
  rows,
  charged,
  note: file ?? "",
});

const monthsOf = ({ closed, waiting }: RetentionResult): Month[] => [
  ...closed.map(closedMonth),
  ...waiting.map(({ month, why }) => ({ month, state: "waiting" as const, rows: 0n, charged: null, note: why })),
];

const shown = ({ month, state, rows, charged, note }: Month) => ({
  month,
  state,
  records: Number(rows),
  charged_micro: charged === null ? null : formatExactMicrodollars(pico(charged)),
  note,
});

function print({ json, print: out, terminal }: AdminRun, months: Month[]): number {
  if (json) out(JSON.stringify(months.map(shown), null, 2));
  else out(months.length === 0 ? "No requests are recorded yet." : formatTable(COLUMNS, months, terminal));
  return 0;
}

function report(run: AdminRun, found: { refusals: bigint; months: Month[]; verb: string }): number {
  const { refusals, months, verb } = found;
  if (run.json) {
    run.print(JSON.stringify({ refusals: Number(refusals), months: months.map(shown) }, null, 2));
    return 0;
  }
  run.print(`Records of refusals ${verb}: ${refusals}.`);
  if (months.length === 0) run.print("No month is old enough to delete.");
  else print(run, months);
  return 0;
}
