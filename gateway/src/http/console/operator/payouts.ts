/** Payout batches: made, exported for whoever sends the money, marked paid. */
import { z } from "zod";
import { parseId, publicId, type Uuid } from "../../../base/ids.ts";
import { exactMicro, ZERO } from "../../../base/money.ts";
import { type Fault, fault } from "../../../faults.ts";
import type { PayoutBatch, PayoutLine } from "../../../operators/payouts.ts";
import { parseFields } from "../../fields.ts";
import { PageFields, page } from "../../lists/pages.ts";
import { isPlain, PLAIN_RULE } from "../../plain-text.ts";
import { type Columns, sendCsv } from "../csv.ts";
import type { ConsoleRoute, Guards } from "../guards.ts";
import { seconds } from "../keys.ts";
import { microAmount } from "./accounts.ts";
import type { OperatorOptions } from "./options.ts";

export const NewBatch = z.object({
  note: z
    .string("must be a string")
    .max(200, "must have at most 200 characters")
    .refine(isPlain, PLAIN_RULE)
    .default(""),
  minimum_micro: z.union([z.string(), z.int()], "must be whole microdollars").optional(),
});

export function payoutRoutes(route: ConsoleRoute, guards: Guards, { audit, payouts, cursors }: OperatorOptions): void {
  const find = async (text: string | undefined): Promise<PayoutBatch> => {
    const id = parseId("pay", text ?? "");
    const batch = id === undefined ? undefined : await payouts.find(id);
    if (batch === undefined) throw fault("not_found", { message: "No such payout batch." });
    return batch;
  };

  route("GET", "/console/api/operator/payouts", guards.operator, async ({ query, json }) => {
    const { cursor, limit } = parseFields(z.object(PageFields), Object.fromEntries(query));
    json(
      await page({
        cursors,
        list: "payouts",
        cursor,
        limit,
        read: (before, max) => payouts.list({ before: before as Uuid | undefined, limit: max }),
        position: ({ id }) => id,
        show: batchObject,
      }),
    );
  });
  route("POST", "/console/api/operator/payouts", guards.operator, async ({ who, fields, json }) => {
    const { note, minimum_micro } = await fields(NewBatch);
    const minimum = minimum_micro === undefined ? ZERO : microAmount("minimum_micro", minimum_micro);
    const details = { note, minimum_micro: exactMicro(minimum) };
    const by = who.email;
    const batch = await audit.record({ operator: by, action: "payout.create", subject: "hosts", details }, async () => {
      const made = await payouts.create({ note, by, minimum });
      if (made === undefined) throw fault("nothing_owed");
      return made;
    });
    json(batchObject(batch), 201);
  });
  route("GET", "/console/api/operator/payouts/:id", guards.operator, async ({ params, query, json }) => {
    const batch = await find(params.id);
    const { cursor, limit } = parseFields(z.object(PageFields), Object.fromEntries(query));
    const { data: lines, next_cursor } = await page({
      cursors,
      list: `payout ${batch.id}`,
      cursor,
      limit,
      read: (after, max) => payouts.lines(batch.id, { after: after as Uuid | undefined, limit: max }),
      position: ({ id }) => id,
      show: lineObject,
    });
    json({ ...batchObject(batch), lines, next_cursor });
  });
  route("GET", "/console/api/operator/payouts/:id/csv", guards.operator, async ({ params, ...visit }) => {
    const { id } = await find(params.id);
    await sendCsv(visit, {
      name: "payouts.csv",
      columns: CSV_COLUMNS,
      read: (last, limit) => payouts.lines(id, { after: last?.id, limit, paying: true }),
    });
  });
  route("POST", "/console/api/operator/payouts/:id/paid", guards.operator, async ({ who, params, json }) => {
    const { id } = await find(params.id);
    const subject = publicId("pay", id);
    await audit.record({ operator: who.email, action: "payout.paid", subject }, async () => {
      const marked = await payouts.markPaid(id, who.email);
      if (typeof marked === "object") throw exceedsBalance(marked.exceedsBalance);
    });
    json(batchObject(await find(params.id)));
  });
}

/** What was promised and is not there: a mistake that somebody has to look at, by the lines' names. */
const exceedsBalance = (lines: Uuid[]): Fault =>
  fault("payout_exceeds_balance", {
    message: `${lines.map((line) => publicId("pay", line)).join(", ")}: the host has less than this line promises. Nothing was booked, and the payout stays open.`,
  });

function batchObject(batch: PayoutBatch): object {
  const { id, note, createdAt, createdBy, paidAt, paidBy, hosts, total, heldBack, setOff } = batch;
  return {
    id: publicId("pay", id),
    object: "payout_batch",
    state: paidAt === null ? "open" : "paid",
    note,
    hosts,
    total_micro: exactMicro(total),
    held_back_micro: exactMicro(heldBack),
    set_off_micro: exactMicro(setOff),
    created_at: seconds(createdAt),
    created_by: createdBy,
    paid_at: paidAt === null ? null : seconds(paidAt),
    paid_by: paidBy,
  };
}

/** The file for whoever sends the money: its columns, each with its cell of a line. */
export const CSV_COLUMNS = {
  payout: ({ id }) => publicId("pay", id),
  account: ({ accountId }) => publicId("acc", accountId),
  name: ({ accountName }) => accountName,
  owners: ({ owners }) => owners.join(" "),
  amount_micro: ({ amount }) => exactMicro(amount),
  held_back_micro: ({ heldBack }) => exactMicro(heldBack),
  set_off_micro: ({ setOff }) => exactMicro(setOff),
} satisfies Columns<PayoutLine>;

function lineObject(line: PayoutLine): object {
  return Object.fromEntries(Object.entries(CSV_COLUMNS).map(([name, cell]) => [name, cell(line)]));
}
