/** `tollgate admin payout …`: creates, lists and exports payout batches, and marks them as paid. */
import { isPlainText } from "@tollgate/api/plain-text.ts";
import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { type Column, formatTable } from "@tollgate/terminal/table-format.ts";
import { openPayoutMethods, type PayoutMethod } from "../../accounts/payout-methods.ts";
import { formatCsvCell } from "../../base/csv.ts";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { formatExactMicrodollars, ZERO } from "../../base/money.ts";
import { column, queryOne, row } from "../../db/rows.ts";
import { openAudit } from "../../operators/audit.ts";
import { openPayoutBatches, type PayoutBatch, type PayoutBatches, type PayoutLine } from "../../operators/payouts.ts";
import { parseDollars } from "./accounts.ts";
import { type AdminCommand, type AdminRun, COMMAND_LINE_ACTOR, readEveryPage } from "./admin-run.ts";
import { formatDollars } from "./format-dollars.ts";

const Newest = row({ schema: column.count });

/** A payout line with the host's unmasked payout method. */
interface PayableLine extends PayoutLine {
  method: PayoutMethod | undefined;
}

const BATCH = { BATCH: { help: "batch ID: pay_…" } };
const EXAMPLE = "pay_01jc9v6w2e8t3k5m7q9r1s4x6z";

export const payoutCommands: Record<string, AdminCommand> = {
  "payout create": {
    help: "create a batch that pays what hosts are owed, except held-back earnings",
    flags: {
      note: { value: "TEXT", help: "a name for the batch; at most 200 characters" },
      "minimum-usd": { value: "USD", help: "skip hosts that are owed less than this amount" },
    },
    example: "--note November --minimum-usd 10",
    run: create,
  },
  "payout list": { help: "list payout batches, newest first", example: "", run: list },
  "payout show": { help: "show the amount for each host in a batch", args: BATCH, example: EXAMPLE, run: show },
  "payout export": {
    help: "print a batch as CSV, for the bank",
    args: BATCH,
    example: `${EXAMPLE} > november.csv`,
    run: exportCsv,
  },
  "payout paid": { help: "mark a batch as paid after you sent the money", args: BATCH, example: EXAMPLE, run: paid },
};

async function create(run: AdminRun): Promise<number> {
  const note = run.flags.note ?? "";
  if (note.length > 200 || !isPlainText(note)) {
    throw new UsageError("--note must have at most 200 characters and no control characters");
  }
  const least = run.flags["minimum-usd"];
  const minimum = least === undefined ? ZERO : parseDollars("minimum-usd", least);
  const details = { note, minimum_micro: formatExactMicrodollars(minimum) };
  const act = { operator: COMMAND_LINE_ACTOR, action: "payout.create", subject: "hosts", details };
  const batch = await openAudit(run).record(act, async () => {
    const made = await payoutsOf(run).create({ note, by: COMMAND_LINE_ACTOR, minimum });
    if (made === undefined) {
      const much = minimum === ZERO ? "anything" : "the minimum amount (--minimum-usd)";
      throw new CommandError(`no host is owed ${much}, not counting held-back earnings and open payouts`, {
        next: "tollgate admin payout list shows open batches",
      });
    }
    return made;
  });
  return print(run, [batch]);
}

async function list(run: AdminRun): Promise<number> {
  return print(run, await readEveryPage((page) => payoutsOf(run).list(page)));
}

async function show(run: AdminRun): Promise<number> {
  const { id: batch } = await find(run);
  const lines = await everyLine(run, batch);
  if (!run.json) {
    run.print(formatTable(LINES, lines, run.terminal));
    return 0;
  }
  const shown = lines.map((line) => ({
    payout: publicId("pay", line.id),
    account: publicId("acc", line.accountId),
    name: line.accountName,
    owners: line.owners,
    amount_micro: formatExactMicrodollars(line.amount),
    held_back_micro: formatExactMicrodollars(line.heldBack),
    set_off_micro: formatExactMicrodollars(line.setOff),
    withheld_micro: formatExactMicrodollars(line.withheld),
    newly_withheld_micro: formatExactMicrodollars(line.newlyWithheld),
    own_micro: formatExactMicrodollars(line.own),
    method: line.method && {
      kind: line.method.kind,
      holder: line.method.holder,
      number: line.method.number,
      bank_code: line.method.bankCode,
      changed_at: line.method.changedAt,
    },
  }));
  run.print(JSON.stringify(shown, null, 2));
  return 0;
}

async function exportCsv(run: AdminRun): Promise<number> {
  if (run.json) return show(run);
  const { id } = await find(run);
  // Imported here, because a static import would load this module for every command.
  const { PAYOUT_LINE_COLUMNS: LINE_COLUMNS } = await import("../../routes/console/operator/payouts.ts");
  run.print(Object.keys(LINE_COLUMNS).join(","));
  for (const line of await everyLine(run, id, true)) {
    run.print(
      Object.values(LINE_COLUMNS)
        .map((cell) => formatCsvCell(cell(line)))
        .join(","),
    );
  }
  return 0;
}

async function paid(run: AdminRun): Promise<number> {
  const { id } = await find(run);
  const act = { operator: COMMAND_LINE_ACTOR, action: "payout.paid", subject: publicId("pay", id) };
  await openAudit(run).record(act, async () => {
    const marked = await payoutsOf(run).markPaid(id, COMMAND_LINE_ACTOR);
    if (typeof marked !== "object") return;
    const short = marked.exceedsBalance.map((line) => publicId("pay", line)).join(", ");
    throw new CommandError(`${short}: the host's balance is less than its payout, so nothing was booked`, {
      next: "tollgate admin payout show BATCH shows the amount for each host; the batch is not marked as paid",
    });
  });
  return print(run, [await find(run)]);
}

const payoutsOf = ({ pool, newId, config }: AdminRun): PayoutBatches =>
  openPayoutBatches({ pool, newId, holdDays: config.payoutHoldDays });

async function everyLine(run: AdminRun, batch: Uuid, paying = false): Promise<PayableLine[]> {
  const { pool, newId } = run;
  const { schema } = await queryOne(pool, Newest, "select max(version) as schema from migration", []);
  const methods = openPayoutMethods({ pool, newId, schemaNumber: () => schema });
  const lines = await readEveryPage(({ before: after, limit }) =>
    payoutsOf(run).lines(batch, { after, limit, paying }),
  );
  const found = await methods.ofAll(lines.map(({ accountId }) => accountId));
  return lines.map((line) => ({ ...line, method: found.get(line.accountId) }));
}

async function find(run: AdminRun): Promise<PayoutBatch> {
  const id = parseId("pay", run.args[0] ?? "");
  if (id === undefined) throw new UsageError(`${run.args[0]} is not a batch ID (pay_…)`);
  const batch = await payoutsOf(run).find(id);
  if (batch === undefined)
    throw new CommandError(`there is no batch ${run.args[0]}`, { next: "tollgate admin payout list" });
  return batch;
}

const LINES: Column<PayableLine>[] = [
  { title: "PAYOUT", cell: ({ id }) => publicId("pay", id) },
  { title: "ACCOUNT", cell: ({ accountId }) => publicId("acc", accountId) },
  { title: "AMOUNT", align: "money", cell: ({ amount }) => formatDollars(amount) },
  { title: "HELD BACK", align: "money", cell: ({ heldBack }) => formatDollars(heldBack) },
  { title: "SET OFF", align: "money", cell: ({ setOff }) => formatDollars(setOff) },
  { title: "WITHHELD", align: "money", cell: ({ withheld }) => formatDollars(withheld) },
  { title: "NEWLY WITHHELD", align: "money", cell: ({ newlyWithheld }) => formatDollars(newlyWithheld) },
  { title: "OWN REQUESTS", align: "money", cell: ({ own }) => formatDollars(own) },
  { title: "METHOD", cell: ({ method }) => method?.label ?? "none" },
  { title: "NAME", cell: ({ accountName }) => accountName },
];

const BATCHES: Column<PayoutBatch>[] = [
  { title: "BATCH", cell: ({ id }) => publicId("pay", id) },
  { title: "STATE", cell: ({ paidAt }) => (paidAt === null ? "open" : "paid") },
  { title: "HOSTS", align: "right", cell: ({ hosts }) => hosts },
  { title: "TOTAL", align: "money", cell: ({ total }) => formatDollars(total) },
  { title: "HELD BACK", align: "money", cell: ({ heldBack }) => formatDollars(heldBack) },
  { title: "SET OFF", align: "money", cell: ({ setOff }) => formatDollars(setOff) },
  { title: "WITHHELD", align: "money", cell: ({ withheld }) => formatDollars(withheld) },
  { title: "NOTE", cell: ({ note }) => note },
];

function print({ json, print: out, terminal }: AdminRun, batches: PayoutBatch[]): number {
  const shown = batches.map(({ id, total, heldBack, setOff, withheld, ...rest }) => ({
    id: publicId("pay", id),
    total_micro: formatExactMicrodollars(total),
    held_back_micro: formatExactMicrodollars(heldBack),
    set_off_micro: formatExactMicrodollars(setOff),
    withheld_micro: formatExactMicrodollars(withheld),
    ...rest,
  }));
  if (json) out(JSON.stringify(shown, null, 2));
  else out(batches.length === 0 ? "There are no payout batches yet." : formatTable(BATCHES, batches, terminal));
  return 0;
}
