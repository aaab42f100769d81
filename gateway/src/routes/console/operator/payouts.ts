/** Payout batches: create, export for the bank transfers, mark as paid. */
import type { Payout, payoutRoutes } from "@tollgate/api/console/operator-payouts.ts";
import type { z } from "zod";
import type { PayoutMethod, PayoutMethods } from "../../../accounts/payout-methods.ts";
import type { AccountServices } from "../../../accounts/services.ts";
import type { CsvColumns } from "../../../base/csv.ts";
import { parseId, publicId, type Uuid } from "../../../base/ids.ts";
import { formatExactMicrodollars, ZERO } from "../../../base/money.ts";
import { toUnixSeconds } from "../../../base/time.ts";
import type { Fault } from "../../../faults.ts";
import { listPage } from "../../../http/lists/list-pages.ts";
import type { Handlers } from "../../../http/serve-routes.ts";
import type { PayoutBatch, PayoutLine, PayoutLinesQuery } from "../../../operators/payouts.ts";
import type { OperatorServices } from "../../../operators/services.ts";
import type { SiteServices } from "../../services.ts";
import { createCsvFile } from "../csv-file.ts";
import { parseMicroAmount } from "./accounts.ts";

export function payoutHandlers(
  parts: Pick<AccountServices, "identities"> &
    Pick<OperatorServices, "audit" | "payouts"> &
    Pick<SiteServices, "cursors">,
): Handlers<typeof payoutRoutes> {
  const { identities, audit, payouts, cursors } = parts;
  const lines = async (id: Uuid, query: PayoutLinesQuery): Promise<PayableLine[]> =>
    withPayoutMethods(identities.payoutMethods, await payouts.lines(id, query));
  const find = async (text: string, refuse: (code: "not_found") => Fault): Promise<PayoutBatch> => {
    const id = parseId("pay", text);
    const batch = id === undefined ? undefined : await payouts.find(id);
    if (batch === undefined) throw refuse("not_found");
    return batch;
  };
  return {
    listPayouts: ({ query }) =>
      listPage({
        cursors,
        list: "payouts",
        query,
        read: (before, max) => payouts.list({ before: before as Uuid | undefined, limit: max }),
        position: ({ id }) => id,
        show: batchObject,
      }),

    async createPayout({ who, body, refuse }) {
      const { note, minimum_micro } = body();
      const minimum = minimum_micro === undefined ? ZERO : parseMicroAmount("minimum_micro", minimum_micro);
      const details = { note, minimum_micro: formatExactMicrodollars(minimum) };
      const by = who.email;
      const batch = await audit.record(
        { operator: by, action: "payout.create", subject: "hosts", details },
        async () => {
          const made = await payouts.create({ note, by, minimum });
          if (made === undefined) throw refuse("nothing_owed");
          return made;
        },
      );
      return batchObject(batch);
    },

    async getPayout({ params, query, refuse }) {
      const batch = await find(params.id, refuse);
      const { data, next_cursor } = await listPage({
        cursors,
        list: `payout ${batch.id}`,
        query,
        read: (after, max) => lines(batch.id, { after: after as Uuid | undefined, limit: max }),
        position: ({ id }) => id,
        show: lineObject,
      });
      return { ...batchObject(batch), lines: data, next_cursor };
    },

    async exportPayout({ params, refuse }) {
      const { id } = await find(params.id, refuse);
      return createCsvFile({
        name: "payouts.csv",
        columns: PAYOUT_LINE_COLUMNS,
        read: (last, limit) => lines(id, { after: last?.id, limit, paying: true }),
      });
    },

    async markPayoutPaid({ who, params, refuse }) {
      const { id } = await find(params.id, refuse);
      const subject = publicId("pay", id);
      await audit.record({ operator: who.email, action: "payout.paid", subject }, async () => {
        const marked = await payouts.markPaid(id, who.email);
        if (typeof marked !== "object") return;
        // The balance does not cover the payout. An operator must correct it, so the message names the lines.
        const lines = marked.exceedsBalance.map((line) => publicId("pay", line)).join(", ");
        const message = `${lines}: the host's balance is less than its payout. Nothing was booked, and the payout stays open.`;
        throw refuse("payout_exceeds_balance", { message });
      });
      return batchObject(await find(params.id, refuse));
    },
  };
}

function batchObject(batch: PayoutBatch): z.input<typeof Payout> {
  const { id, note, createdAt, createdBy, paidAt, paidBy, hosts, total, heldBack, setOff, withheld } = batch;
  return {
    id: publicId("pay", id),
    object: "payout_batch",
    state: paidAt === null ? "open" : "paid",
    note,
    hosts,
    total_micro: formatExactMicrodollars(total),
    held_back_micro: formatExactMicrodollars(heldBack),
    set_off_micro: formatExactMicrodollars(setOff),
    withheld_micro: formatExactMicrodollars(withheld),
    created_at: toUnixSeconds(createdAt),
    created_by: createdBy,
    paid_at: paidAt === null ? null : toUnixSeconds(paidAt),
    paid_by: paidBy,
  };
}

/** A line of a payout batch with the host's payout method. */
export interface PayableLine extends PayoutLine {
  method: PayoutMethod | undefined;
}

export async function withPayoutMethods(
  methods: Pick<PayoutMethods, "ofAll">,
  lines: PayoutLine[],
): Promise<PayableLine[]> {
  const found = await methods.ofAll(lines.map(({ accountId }) => accountId));
  return lines.map((line) => ({ ...line, method: found.get(line.accountId) }));
}

const AMOUNT_COLUMNS = {
  payout: ({ id }) => publicId("pay", id),
  account: ({ accountId }) => publicId("acc", accountId),
  name: ({ accountName }) => accountName,
  owners: ({ owners }) => owners.join(" "),
  amount_micro: ({ amount }) => formatExactMicrodollars(amount),
  held_back_micro: ({ heldBack }) => formatExactMicrodollars(heldBack),
  set_off_micro: ({ setOff }) => formatExactMicrodollars(setOff),
  withheld_micro: ({ withheld }) => formatExactMicrodollars(withheld),
  newly_withheld_micro: ({ newlyWithheld }) => formatExactMicrodollars(newlyWithheld),
  own_micro: ({ own }) => formatExactMicrodollars(own),
} satisfies CsvColumns<PayoutLine>;

/** The columns of the exported file: a column's name, and its cell's value for a line. */
export const PAYOUT_LINE_COLUMNS = {
  ...AMOUNT_COLUMNS,
  method: ({ method }) => method?.kind ?? "",
  holder: ({ method }) => method?.holder ?? "",
  number: ({ method }) => method?.number ?? "",
  bank_code: ({ method }) => method?.bankCode ?? "",
  method_changed_at: ({ method }) => method?.changedAt.toISOString() ?? "",
} satisfies CsvColumns<PayableLine>;

type LineAmounts = Record<keyof typeof AMOUNT_COLUMNS, string>;

function lineObject({ method, ...line }: PayableLine) {
  const amounts = Object.entries(AMOUNT_COLUMNS).map(([name, cell]) => [name, cell(line)]);
  return {
    ...(Object.fromEntries(amounts) as LineAmounts),
    method:
      method === undefined
        ? null
        : {
            kind: method.kind,
            holder: method.holder,
            number: method.number,
            bank_code: method.bankCode,
            changed_at: toUnixSeconds(method.changedAt),
          },
  };
}
