/** `tollgate admin payout …`: batches of what hosts are owed. */
import { parseId, publicId } from "../../base/ids.ts";
import { exactMicro, ZERO } from "../../base/money.ts";
import { csvRows } from "../../http/console/operator/payouts.ts";
import { isPlain } from "../../http/plain-text.ts";
import { openAudit } from "../../operators/audit.ts";
import { openPayouts, type PayoutBatch } from "../../operators/payouts.ts";
import { dollarsOf } from "./accounts.ts";
import { type AdminCommand, type AdminRun, everyPage, SHELL_OPERATOR } from "./admin-run.ts";

export const payoutCommands: Record<string, AdminCommand> = {
  "payout create": {
    help: "a batch of everything hosts are owed; --minimum-usd leaves out who is owed less",
    flags: ["note", "minimum-usd"],
    run: create,
  },
  "payout list": { help: "batches, newest first", run: list },
  "payout show": { help: "who is paid what in a batch", args: ["BATCH"], run: show },
  "payout export": { help: "a batch as CSV, for whoever sends the money", args: ["BATCH"], run: exportCsv },
  "payout paid": { help: "the money was sent: book the batch", args: ["BATCH"], run: paid },
};

async function create(run: AdminRun): Promise<number> {
  const note = run.flags.note ?? "";
  if (note.length > 200 || !isPlain(note)) {
    throw new Error("--note must have at most 200 characters and no control characters");
  }
  const least = run.flags["minimum-usd"];
  const minimum = least === undefined ? ZERO : dollarsOf("minimum-usd", least);
  const details = { note, minimum_micro: exactMicro(minimum) };
  const act = { operator: SHELL_OPERATOR, action: "payout.create", subject: "hosts", details };
  const batch = await openAudit(run).record(act, async () => {
    const made = await openPayouts(run).create({ note, by: SHELL_OPERATOR, minimum });
    if (made === undefined) {
      const much = minimum === ZERO ? "anything" : "as much";
      throw new Error(`no host is owed ${much} beyond what open payouts promise`);
    }
    return made;
  });
  return print(run, [batch]);
}

async function list(run: AdminRun): Promise<number> {
  return print(run, await everyPage((page) => openPayouts(run).list(page)));
}

async function show(run: AdminRun): Promise<number> {
  const { id: batch } = await find(run);
  const lines = (await openPayouts(run).lines(batch)).map(({ id, accountId, accountName, owners, amount }) => ({
    payout: publicId("pay", id),
    account: publicId("acc", accountId),
    name: accountName,
    owners,
    amount_micro: exactMicro(amount),
  }));
  if (run.json) run.print(JSON.stringify(lines, null, 2));
  for (const { payout, account, name, amount_micro } of run.json ? [] : lines) {
    run.print(`${payout}  ${account}  ${amount_micro} µ  ${name}`);
  }
  return 0;
}

async function exportCsv(run: AdminRun): Promise<number> {
  if (run.json) return show(run);
  const { id } = await find(run);
  for (const row of csvRows(await openPayouts(run).lines(id))) run.print(row);
  return 0;
}

async function paid(run: AdminRun): Promise<number> {
  const { id } = await find(run);
  const act = { operator: SHELL_OPERATOR, action: "payout.paid", subject: publicId("pay", id) };
  await openAudit(run).record(act, () => openPayouts(run).markPaid(id, SHELL_OPERATOR));
  return print(run, [await find(run)]);
}

async function find(run: AdminRun): Promise<PayoutBatch> {
  const id = parseId("pay", run.args[0] ?? "");
  if (id === undefined) throw new Error(`${run.args[0]} is not a batch's id (pay_…)`);
  const batch = await openPayouts(run).find(id);
  if (batch === undefined) throw new Error(`there is no batch ${run.args[0]}`);
  return batch;
}

function print({ json, print: out }: AdminRun, batches: PayoutBatch[]): number {
  const shown = batches.map(({ id, total, ...rest }) => ({
    id: publicId("pay", id),
    total_micro: exactMicro(total),
    ...rest,
  }));
  if (json) out(JSON.stringify(shown, null, 2));
  for (const { id, total_micro, hosts, paidAt, note } of json ? [] : shown) {
    out(`${id}  ${paidAt === null ? "open" : "paid"}  ${hosts} hosts  ${total_micro} µ  ${note}`.trimEnd());
  }
  return 0;
}
