/** For tests of retention: a ledger with months of request records, and what the rest of the platform shows of them. */
import assert from "node:assert/strict";
import { systemClock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import { pico } from "../base/money.ts";
import { timeoutFreeClock } from "../base/testing.ts";
import { DAY_MS, HOUR_MS } from "../base/time.ts";
import { openTestDatabase } from "../db/testing.ts";
import { checkLedger } from "../ledger/check.ts";
import type { HoldOrder } from "../ledger/hold.ts";
import { openLedger } from "../ledger/ledger.ts";
import { openAccountStatement } from "../ledger/statement.ts";
import { createTestHold, createTestSettlement, newId } from "../ledger/testing.ts";
import { openEarningsHistory } from "./earnings.ts";
import { openHistoryRetention, type RetentionRules } from "./history-retention.ts";
import { openRateLimitedRequestRecords } from "./rate-limited-request-records.ts";
import { openRequestHistory } from "./request-history.ts";
import { makeIdAt, makePastMonths, monthsAgo, waitPastMidnight } from "./testing-past-months.ts";
import { openUsageHistory } from "./usage-history.ts";

/** How many months before the current one have partitions. */
export const PAST_MONTHS = 5;

interface Past {
  at: Date;
  accountId?: Uuid;
  keyId?: Uuid;
  paid?: boolean;
  label?: string;
}

export type RetentionRig = Awaited<ReturnType<typeof openRetentionRig>>;

export async function openRetentionRig() {
  await waitPastMidnight();
  const db = await openTestDatabase();
  const { pool } = db;
  // The lease of holds is too long to expire on any machine.
  const ledger = openLedger({ pool, clock: timeoutFreeClock, gatewayId: "test", holdLeaseMs: HOUR_MS });
  await ledger.expire();
  await pool.query("insert into price values (1, 'tiny-3b', 20000, 40000)");
  await makePastMonths(pool, PAST_MONTHS);

  const move = (kind: "grant" | "dispute", accountId: Uuid, amount: bigint): Promise<unknown> =>
    ledger.transfer({ id: newId(), kind, accountId, amount: pico(amount), reason: "a test" });
  const open = async (kind: "builder" | "host"): Promise<Uuid> => {
    const id = newId();
    await pool.query("insert into account (id, kind, name) values ($1, $2, 'an account')", [id, kind]);
    await pool.query("insert into ledger_account (id, kind) values ($1, $2)", [id, kind]);
    if (kind === "builder") await move("grant", id, 50_000_000n);
    return id;
  };
  const [builder, other, host] = [await open("builder"), await open("builder"), await open("host")];

  /** Creates a request with a hold and a settlement. */
  const served = async ({ at, accountId = builder, keyId = accountId, paid = true, label }: Past): Promise<Uuid> => {
    const order = { ...createTestHold(accountId), id: makeIdAt(at), keyId, ...(label !== undefined && { label }) };
    assert.deepEqual(await ledger.hold(order), { kind: "held" });
    const free = { charge: pico(0n), outcome: "upstream_failed" as const, httpStatus: 502, completionTokens: 0 };
    const settlement = { ...createTestSettlement(order, paid ? host : null), ...(!paid && free) };
    assert.equal(await ledger.settle(settlement), "settled");
    return order.id;
  };
  /** Creates a request whose gateway died before settling it. */
  const lost = async (at: Date): Promise<HoldOrder> => {
    const order = { ...createTestHold(builder), id: makeIdAt(at), keyId: builder };
    assert.deepEqual(await ledger.hold(order), { kind: "held" });
    await pool.query("update hold set expires_at = now() - interval '1 second' where id = $1", [order.id]);
    assert.equal(await ledger.expire(), 1);
    return order;
  };
  const refused = (at: Date): Promise<void> =>
    openRateLimitedRequestRecords({ pool, clock: timeoutFreeClock }).record({
      id: makeIdAt(at),
      accountId: builder,
      keyId: builder,
      keyName: "a key",
      endpoint: "chat",
      model: "tiny-3b",
      stream: false,
      outcome: "rate_limit_requests",
      httpStatus: 429,
      client: "",
    });
  const rollUp = (): Promise<unknown> => pool.query("select history_roll_up(10000)");

  return {
    db,
    ledger,
    builder,
    host,
    served,
    lost,
    refused,
    rollUp,
    /**
     * Creates requests in every month: paid, free, of two builders, refused, lost, and settled late. Then a set-off (a
     * deduction from a payout).
     */
    async openPast(): Promise<void> {
      for (let ago = PAST_MONTHS; ago >= 0; ago--) {
        const day = (n: number): Date =>
          new Date(monthsAgo(ago).getTime() + (n * DAY_MS) / (ago === 0 ? 100 : 1) + 1000 * n);
        for (let n = 0; n < 6; n++) {
          await served({ at: day(n), accountId: n % 3 === 0 ? other : builder, paid: n !== 4, label: "a label" });
        }
        await served({ at: new Date(monthsAgo(ago).getTime()), label: "=first" });
        if (ago > 0) await served({ at: new Date(monthsAgo(ago - 1).getTime() - 1), label: "last, of the month" });
        for (let n = 0; n < 3; n++) await refused(day(n));
        await lost(day(1));
        assert.equal(await ledger.settle(createTestSettlement(await lost(day(2)), host)), "late");
      }
      await rollUp();
      const identity = newId();
      await pool.query("insert into identity (id, email, name) values ($1, 'a@example.test', 'A')", [identity]);
      for (const account of [other, host])
        await pool.query("insert into account_owner values ($1, $2)", [identity, account]);
      await move("dispute", other, 50_000_000n);
      await pool.query("select payout_create($1, 'a batch', 'o', 1, 0)", [newId()]);
      const { rows } = await pool.query("select count(*)::int as count from payout_setoff");
      assert.deepEqual(rows, [{ count: 1 }]);
    },
    /** The names of the ledger checks that find differences. */
    async differing(): Promise<string[]> {
      return (await checkLedger(pool)).filter(({ differences }) => differences.length > 0).map(({ name }) => name);
    },
    /**
     * Everything about the past that users see, except the request records: balances, sums and the number of requests.
     * Dropping old records must not change it.
     */
    async told() {
      const span = { from: monthsAgo(PAST_MONTHS + 1), to: new Date(systemClock.now() + DAY_MS) };
      const balances = await pool.query("select id, balance::text, held::text from ledger_book order by id");
      const { keptFrom, ...history } = openRequestHistory({ pool });
      return {
        balances: balances.rows,
        byDay: await openAccountStatement({ pool }).byDay(builder),
        usage: await openUsageHistory({ pool }).sums(builder, { by: "day", ...span }),
        labels: await openUsageHistory({ pool }).byLabel(builder, span),
        earned: await openEarningsHistory({ pool }).sum(host, {}),
        total: await history.total(builder, {}, systemClock.now()),
      };
    },
    async partitions(): Promise<string[]> {
      const { rows } = await pool.query("select to_char(m, 'YYYY-MM') as month from history_months() m");
      return rows.map(({ month }) => month);
    },
    retentionOf: (rules: Partial<RetentionRules> = {}) =>
      openHistoryRetention({
        pool,
        rules: { historyDays: undefined, refusalsDays: undefined, exportDir: undefined, payoutHoldDays: 0, ...rules },
        now: () => systemClock.now(),
      }),
    async close(): Promise<void> {
      await ledger.close();
      await db.close();
    },
  };
}

/** The retention in days that keeps all but the oldest `months` months. */
export const countDaysOfLastMonths = (months: number): number =>
  Math.floor((systemClock.now() - monthsAgo(PAST_MONTHS - months).getTime()) / DAY_MS);
