/** One account for operators: its activity over a time span, its statement and its payouts. */
import type { accountPageRoutes } from "@tollgate/api/console/operator-account-page.ts";
import type { Uuid } from "../../../base/ids.ts";
import { formatExactMicrodollars, type Pico, pico, ZERO } from "../../../base/money.ts";
import { toUnixSeconds } from "../../../base/time.ts";
import type { HourlySum } from "../../../history/hourly-sums.ts";
import { computeTimeSlots, type PerformanceSum, type TimeSlots } from "../../../history/performance-reader.ts";
import type { HistoryServices } from "../../../history/services.ts";
import { listPage } from "../../../http/lists/list-pages.ts";
import type { Handlers } from "../../../http/serve-routes.ts";
import type { LedgerServices } from "../../../ledger/services.ts";
import type { StatementRow } from "../../../ledger/statement.ts";
import type { AccountEntry } from "../../../operators/account-directory.ts";
import type { HostPayout } from "../../../operators/payouts.ts";
import type { OperatorServices } from "../../../operators/services.ts";
import type { SiteServices } from "../../services.ts";
import { payoutObject } from "../payouts.ts";
import { accountFinder } from "./accounts.ts";
import { performanceCountsObject } from "./performance.ts";

type PageParts = Pick<OperatorServices, "directory" | "payouts"> &
  Pick<HistoryServices, "performance" | "usage" | "earnings"> &
  Pick<LedgerServices, "statement" | "hostMoney"> &
  Pick<SiteServices, "cursors" | "now">;

export function accountPageHandlers(parts: PageParts): Handlers<typeof accountPageRoutes> {
  const { directory, statement, payouts, hostMoney, cursors, now } = parts;
  const find = accountFinder(directory);
  return {
    async getAccountActivity({ params, query: { range, to }, refuse }) {
      const account = await find(params.id, refuse);
      const span = computeTimeSlots(range, now(), to);
      const { total, slots, models, ...amounts } = await activityOf(parts, account, span);
      return {
        object: "account_activity",
        kind: account.kind,
        range,
        from: toUnixSeconds(span.from),
        to: toUnixSeconds(span.to),
        slot_s: span.slotMs / 1000,
        total: { ...performanceCountsObject(total), amount_micro: formatExactMicrodollars(sumOf(amounts.bySlot)) },
        series: seriesOf(span, slots, amounts.bySlot),
        models: modelsOf(models, amounts.byModel),
      };
    },

    async listAccountStatement({ params, query, refuse }) {
      const { id, kind } = await find(params.id, refuse);
      if (kind !== "builder") throw refuse("not_a_builder");
      return await listPage({
        cursors,
        list: `operator statement ${id}`,
        query,
        read: (before, limit) => statement.byDay(id, { before, limit }),
        position: ({ place }) => place,
        show: rowObject,
      });
    },

    async listAccountPayouts({ params, query, refuse }) {
      const { id, kind } = await find(params.id, refuse);
      const found = await listPage({
        cursors,
        list: `operator payouts ${id}`,
        query,
        read: (before, limit) => payouts.ofHost(id, { before: before as Uuid | undefined, limit }),
        position: ({ batchId }) => batchId,
        show: accountPayoutObject,
      });
      if (kind !== "host") return { ...found, balance: null };
      const [money, own] = await Promise.all([hostMoney(id), parts.earnings.own(id)]);
      const { pending, heldBack, paidOut, setOff, withheld } = money;
      return {
        ...found,
        balance: {
          pending_micro: formatExactMicrodollars(pending),
          held_back_micro: formatExactMicrodollars(heldBack),
          paid_out_micro: formatExactMicrodollars(paidOut),
          set_off_micro: formatExactMicrodollars(setOff),
          withheld_micro: formatExactMicrodollars(withheld),
          own_micro: formatExactMicrodollars(own),
        },
      };
    },
  };
}

interface Activity {
  total: PerformanceSum | undefined;
  slots: PerformanceSum[];
  models: PerformanceSum[];
  bySlot: HourlySum[];
  byModel: HourlySum[];
}

/** The activity of a builder's requests, or of the requests that a host's nodes served. */
async function activityOf(parts: PageParts, { id, kind }: AccountEntry, span: TimeSlots): Promise<Activity> {
  const { performance, usage, earnings, directory } = parts;
  const subjects = kind === "builder" ? [id] : await directory.nodes.idsOf(id);
  const asked = { scope: kind === "builder" ? ("account" as const) : ("node" as const), subjects, ...span };
  const amounts = (by: "hour" | "day" | "model"): Promise<HourlySum[]> =>
    kind === "builder" ? usage.sums(id, { by, ...span }) : earnings.sums(id, { by, ...span });
  const [{ total, slots, models }, bySlot, byModel] = await Promise.all([
    performance.each(asked, { total: [], slots: ["slot"], models: ["model"] }),
    amounts(span.grain === "day" ? "day" : "hour"),
    amounts("model"),
  ]);
  return { total: total[0], slots, models, bySlot, byModel };
}

const sumOf = (sums: HourlySum[]): Pico => sums.reduce<Pico>((all, { amount }) => pico(all + amount), ZERO);

/** Every time slot of the span, including slots without activity. */
function seriesOf({ from, to, slotMs }: TimeSlots, slots: PerformanceSum[], amounts: HourlySum[]) {
  const sums = new Map(slots.map((sum) => [sum.slot?.getTime(), sum]));
  const inSlot = new Map(amounts.map(({ bucket, amount }) => [Date.parse(bucket), amount]));
  const starts = Array.from(
    { length: (to.getTime() - from.getTime()) / slotMs },
    (_, i) => from.getTime() + i * slotMs,
  );
  return starts.map((start) => ({
    at: start / 1000,
    ...performanceCountsObject(sums.get(start)),
    amount_micro: formatExactMicrodollars(inSlot.get(start) ?? ZERO),
  }));
}

function modelsOf(sums: PerformanceSum[], amounts: HourlySum[]) {
  const ofModel = new Map(amounts.map(({ bucket, amount }) => [bucket, amount]));
  return sums
    .flatMap((sum) => (sum.model === null ? [] : [{ sum, model: sum.model, amount: ofModel.get(sum.model) ?? ZERO }]))
    .toSorted((a, b) => (a.amount === b.amount ? b.sum.requests - a.sum.requests : a.amount < b.amount ? 1 : -1))
    .map(({ sum, model, amount }) => ({
      model,
      ...performanceCountsObject(sum),
      amount_micro: formatExactMicrodollars(amount),
    }));
}

const rowObject = ({ kind, day, requests, amount, balance, reason, at }: StatementRow) => ({
  object: "account_statement_row" as const,
  kind,
  day,
  requests,
  amount_micro: formatExactMicrodollars(amount),
  balance_micro: formatExactMicrodollars(balance),
  reason,
  at: at === null ? null : toUnixSeconds(at),
});

const accountPayoutObject = (payout: HostPayout) => ({
  ...payoutObject(payout),
  object: "account_payout" as const,
  note: payout.note,
});
