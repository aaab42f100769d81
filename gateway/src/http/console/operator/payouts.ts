/** Payout batches: made, exported for whoever sends the money, marked paid. */
import { z } from "zod";
import { parseId, publicId, type Uuid } from "../../../base/ids.ts";
import { exactMicro, ZERO } from "../../../base/money.ts";
import { fault } from "../../../faults.ts";
import type { PayoutBatch, PayoutLine } from "../../../operators/payouts.ts";
import { parseFields } from "../../fields.ts";
import { PageFields, page } from "../../lists/pages.ts";
import { isPlain, PLAIN_RULE } from "../../plain-text.ts";
import { csvCell } from "../csv.ts";
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
  route("GET", "/console/api/operator/payouts/:id", guards.operator, async ({ params, json }) => {
    const batch = await find(params.id);
    json({ ...batchObject(batch), lines: (await payouts.lines(batch.id)).map(lineObject) });
  });
  route("GET", "/console/api/operator/payouts/:id/csv", guards.operator, async ({ params, call }) => {
    const { id } = await find(params.id);
    call.reply.json(200, `${csvRows(await payouts.lines(id)).join("\r\n")}\r\n`, {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": 'attachment; filename="payouts.csv"',
    });
  });
  route("POST", "/console/api/operator/payouts/:id/paid", guards.operator, async ({ who, params, json }) => {
    const { id } = await find(params.id);
    const subject = publicId("pay", id);
    await audit.record({ operator: who.email, action: "payout.paid", subject }, () => payouts.markPaid(id, who.email));
    json(batchObject(await find(params.id)));
  });
}

function batchObject(batch: PayoutBatch): object {
  const { id, note, createdAt, createdBy, paidAt, paidBy, hosts, total } = batch;
  return {
    id: publicId("pay", id),
    object: "payout_batch",
    state: paidAt === null ? "open" : "paid",
    note,
    hosts,
    total_micro: exactMicro(total),
    created_at: seconds(createdAt),
    created_by: createdBy,
    paid_at: paidAt === null ? null : seconds(paidAt),
    paid_by: paidBy,
  };
}

/** The file for whoever sends the money, row by row. */
export function csvRows(lines: PayoutLine[]): string[] {
  const rows = lines.map(lineObject).map((line) => Object.values(line).map(csvCell).join(","));
  return ["payout,account,name,owners,amount_micro", ...rows];
}

function lineObject({ id, accountId, accountName, owners, amount }: PayoutLine): Record<string, string> {
  return {
    payout: publicId("pay", id),
    account: publicId("acc", accountId),
    name: accountName,
    owners: owners.join(" "),
    amount_micro: exactMicro(amount),
  };
}
