/**
 * Compares the ledger model in memory with the database. The real ledger sends random histories of operations to a real
 * PostgreSQL and to the simulated database, step by step. Every answer must be the same, and so must every account,
 * record and entry. The seed is printed on failure; TEST_SEED repeats it.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { timeoutFreeClock } from "@tollgate/protocol/testing/timeout-free-clock.ts";
import { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import type pg from "pg";
import { systemClock } from "../../../gateway/src/base/clock.ts";
import { newIds, publicId, type Uuid } from "../../../gateway/src/base/ids.ts";
import { pico } from "../../../gateway/src/base/money.ts";
import { systemRandom } from "../../../gateway/src/base/random.ts";
import { WITHHELD_REASONS } from "../../../gateway/src/base/stored-enumerations.ts";
import { openTestDatabase, type TestDatabase } from "../../../gateway/src/db/testing.ts";
import { waitPastMidnight } from "../../../gateway/src/history/testing-past-months.ts";
import type { HoldOrder } from "../../../gateway/src/ledger/hold.ts";
import { type Ledger, openLedger } from "../../../gateway/src/ledger/ledger.ts";
import type { Settlement } from "../../../gateway/src/ledger/settlement-sql.ts";
import { createTestHold, createTestSettlement } from "../../../gateway/src/ledger/testing.ts";
import { openPayoutBatches } from "../../../gateway/src/operators/payouts.ts";
import type { PaymentEventContent, ProviderEvent } from "../../../gateway/src/payments/payment-provider.ts";
import { processEvent } from "../../../gateway/src/payments/process-payment-events.ts";
import { ProcessLifetime } from "../process-lifetime.ts";
import { type LedgerEntry, LedgerModel } from "./ledger-model.ts";
import { NodeTable } from "./node-table.ts";
import { PaymentTables } from "./payments.ts";
import { PayoutModel } from "./payouts.ts";
import { type DatabaseTables, executeSqlStatement } from "./sql-statements.ts";
import { Transactions } from "./transactions.ts";

const newId = newIds(systemClock, systemRandom());
const LEASE_MS = 60 * 60 * 1000;
const HISTORIES = 12;
const STEPS = 60;
const DAY_MS = 86_400_000;
const CENT = 10_000_000_000n;

interface Parties {
  builders: { id: Uuid; key: Uuid }[];
  hosts: Uuid[];
  checkouts: { id: Uuid; session: string }[];
}

/** The ledger's code with one of the two databases. */
interface Kept {
  ledger: Ledger;
  pool: pg.Pool;
}

describe("the simulated database compared with PostgreSQL", () => {
  let db: TestDatabase;
  before(async () => {
    db = await openTestDatabase();
  });
  after(() => db.close());

  test("returns the same answers and keeps the same ledger for random histories", async () => {
    const seed = process.env.TEST_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
    for (let i = 0; i < HISTORIES; i++) await play(new SeededRandom(`${seed} ${i}`), `TEST_SEED=${seed}, history ${i}`);
  });

  const play = async (chance: SeededRandom, name: string): Promise<void> => {
    // Budgets count per day in both databases, so the test must not run across midnight.
    await waitPastMidnight();
    const ledgerModel = new LedgerModel(() => systemClock.now());
    const payouts = new PayoutModel({ ledgerModel, newId, now: () => systemClock.now() });
    const nodes = new NodeTable(() => 0);
    const tables: DatabaseTables = {
      ledgerModel,
      keys: [],
      refusals: new Map(),
      nodes,
      payments: new PaymentTables(),
      payouts,
    };
    const query = async (asked: string | { text: string; values: unknown[] }, values: unknown[] = []) =>
      typeof asked === "string"
        ? executeSqlStatement(tables, asked, values)
        : executeSqlStatement(tables, asked.text, asked.values);
    const transactions = new Transactions({ ...tables, run: async (_life, _text, what) => what() });
    const pool = { query, connect: () => transactions.connect(new ProcessLifetime()) } as unknown as pg.Pool;
    const common = { clock: timeoutFreeClock, gatewayId: "differential", holdLeaseMs: LEASE_MS };
    const real = openLedger({ ...common, pool: db.pool });
    const simulated = openLedger({ ...common, pool });
    // If no gateway has swept expired leases for a while, the next sweep expires none, so both databases are swept
    // first.
    await Promise.all([real.expire(), simulated.expire()]);
    const parties = await populate(tables);
    const history = new History(chance, parties);
    const stores = [
      { ledger: real, pool: db.pool },
      { ledger: simulated, pool },
    ] as const;
    for (let step = 0; step < STEPS; step++) {
      const act = history.next();
      const [expected, found] = [await act.on(stores[0]), await act.on(stores[1])];
      assert.deepEqual(found, expected, `${name}, step ${step}: ${act.name}`);
      if (act.runsOut.length > 0) {
        await db.pool.query("update hold set expires_at = now() - interval '1 second' where id = any ($1)", [
          act.runsOut,
        ]);
        for (const id of act.runsOut) {
          const hold = ledgerModel.holds.get(id);
          if (hold !== undefined) hold.expiresMs = 0;
        }
        assert.equal(await simulated.expire(), await real.expire(), `${name}, step ${step}: expired`);
      }
      assert.deepEqual(
        accountsIn(ledgerModel, parties),
        await accountsOf(parties),
        `${name}, step ${step}: ${act.name}`,
      );
    }
    // A payout batch includes all hosts, so this history's hosts are excluded from batches of later histories.
    await db.pool.query("update account set suspended_at = now() where id = any ($1)", [parties.hosts]);
    assert.deepEqual(recordsIn(ledgerModel), await recordsOf(parties), `${name}: records`);
    assert.deepEqual(entriesIn(ledgerModel, parties), await entriesOf(parties), `${name}: entries`);
  };

  const populate = async ({ ledgerModel, payments, payouts }: DatabaseTables): Promise<Parties> => {
    const parties: Parties = { builders: [], hosts: [], checkouts: [] };
    const owner = newId();
    await db.pool.query("insert into identity (id, email, name) values ($1, $2, 'differential')", [
      owner,
      `${owner}@x.test`,
    ]);
    for (let i = 0; i < 5; i++) {
      const [id, kind] = [newId(), i < 3 ? "builder" : "host"] as const;
      await db.pool.query("insert into ledger_account (id, kind) values ($1, $2)", [id, kind]);
      ledgerModel.open(id, kind);
      await db.pool.query("insert into account (id, kind, name) values ($1, $2, 'differential')", [id, kind]);
      // The first two builders and the first host have the same owner.
      if (i < 2 || i === 3)
        await db.pool.query("insert into account_owner (identity_id, account_id) values ($1, $2)", [owner, id]);
      if (kind === "host") {
        parties.hosts.push(id);
        payouts.ownedWith.set(id, i === 3 ? parties.builders.slice(0, 2).map((builder) => builder.id) : []);
        continue;
      }
      const checkout = { id: newId(), accountId: id, pack: "custom", amount: CENT, session: `cs_${id}`, payment: null };
      payments.checkouts.set(checkout.id, { ...checkout, state: "open" });
      await db.pool.query(
        `insert into payment_checkout (id, account_id, pack, amount, live, provider_session)
         values ($1, $2, 'custom', $3, true, $4)`,
        [checkout.id, id, CENT, checkout.session],
      );
      parties.checkouts.push(checkout);
      const key = newId();
      await db.pool.query(
        `insert into api_key (id, account_id, name, reference, secret_hash)
         values ($1, $2, 'k', $3::text, sha256($3::text::bytea))`,
        [key, id, key.replaceAll("-", "").slice(20)],
      );
      if (i > 0) {
        const [day, month] = [500n, i === 2 ? 700n : null];
        await db.pool.query("select key_budget_set($1, $2, $3, $4)", [id, key, day, month]);
        ledgerModel.budgets.set(key, { dayMax: day, monthMax: month });
      }
      parties.builders.push({ id, key });
    }
    return parties;
  };

  const accountsOf = async ({ builders, hosts }: Parties): Promise<unknown[]> => {
    const ids = [...builders.map(({ id }) => id), ...hosts];
    const { rows } = await db.pool.query(
      "select id, balance, held, overdrawn, granted from ledger_account where id = any ($1) order by id",
      [ids],
    );
    return rows;
  };

  const recordsOf = async ({ builders }: Parties): Promise<unknown[]> => {
    const { rows } = await db.pool.query(
      `select id, outcome, charge_pico as charge, short_pico as short, host_pico as share, host_account_id as host,
              granted_pico as granted, (select w.amount_pico from withheld_share w where w.request_id = id) as withheld
         from request where account_id = any ($1) order by id`,
      [builders.map(({ id }) => id)],
    );
    return rows;
  };

  const entriesOf = async ({ builders, hosts }: Parties): Promise<unknown[]> => {
    const { rows } = await db.pool.query(
      `select operation, kind, amount from ledger_entry where account_id = any ($1)`,
      [[...builders.map(({ id }) => id), ...hosts]],
    );
    return inOrder(rows);
  };
});

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function accountsIn(ledgerModel: LedgerModel, { builders, hosts }: Parties): unknown[] {
  const ids = [...builders.map(({ id }) => id), ...hosts].sort(byText);
  return ids.map((id) => {
    const { balance, held, overdrawn, granted } = ledgerModel.accounts.get(id) as NonNullable<
      ReturnType<LedgerModel["accounts"]["get"]>
    >;
    return { id, balance, held, overdrawn, granted };
  });
}

const recordsIn = (ledgerModel: LedgerModel): unknown[] =>
  [...ledgerModel.requests.values()]
    .sort((a, b) => byText(a.id, b.id))
    .map(({ id, outcome, charge, short, share, host, granted }) => {
      const kept = ledgerModel.entries.find(
        ({ operation, kind, amount }) => operation === id && kind === "withheld" && amount > 0n,
      );
      return { id, outcome, charge, short, share, host, granted, withheld: kept?.amount ?? null };
    });

function entriesIn(ledgerModel: LedgerModel, { builders, hosts }: Parties): unknown[] {
  const ids = new Set([...builders.map(({ id }) => id), ...hosts]);
  return inOrder(ledgerModel.entries.filter(({ account }) => ids.has(account)));
}

/** Returns entries without the IDs of a batch's operations, which each database creates itself. */
const inOrder = (entries: Pick<LedgerEntry, "operation" | "kind" | "amount">[]): unknown[] =>
  entries
    .map(({ operation, kind, amount }) => {
      const isOfBatch = kind === "payout" || kind === "setoff";
      return { operation: isOfBatch ? "" : operation, kind, amount };
    })
    .sort((a, b) => byText(a.operation, b.operation) || byText(a.kind, b.kind) || Number(a.amount - b.amount));

interface Act {
  name: string;
  on: (kept: Kept) => Promise<unknown>;
  /** Holds whose leases are made to expire after this step. */
  runsOut: Uuid[];
}

/**
 * Draws the next step, and keeps the operations sent so far, so that later steps can repeat or end them. PostgreSQL and
 * the model get the same IDs: those of open holds, of ended ones, and unknown ones.
 */
class History {
  readonly #chance: SeededRandom;
  readonly #parties: Parties;
  readonly #orders: HoldOrder[] = [];
  readonly #batches: Uuid[] = [];
  readonly #transfers: Parameters<Ledger["transfer"]>[0][] = [];

  constructor(chance: SeededRandom, parties: Parties) {
    this.#chance = chance;
    this.#parties = parties;
  }

  next(): Act {
    const chance = this.#chance;
    const kind = chance.below(13);
    if (kind < 3) return this.#holds();
    if (kind < 6) return this.#settlements();
    if (kind < 8) return this.#transfer();
    if (kind === 10) return this.#news();
    if (kind === 11) return this.#batch();
    if (kind === 12 && this.#batches.length > 0) return this.#paid(chance.pick(this.#batches));
    const some = this.#some();
    if (kind === 8) return act("void", ({ ledger }) => Promise.all(some.map(({ id }) => ledger.void(id))));
    return {
      ...act("renew, and let run out", ({ ledger }) => ledger.renew(some.map(({ id }) => id))),
      runsOut: some.map(({ id }) => id),
    };
  }

  #holds(): Act {
    const chance = this.#chance;
    const orders = Array.from({ length: chance.between(1, 5) }, (): HoldOrder => {
      if (this.#orders.length > 0 && chance.oneIn(6)) return chance.pick(this.#orders);
      const { id, key } = chance.pick(this.#parties.builders);
      const accountId = chance.oneIn(12) ? newId() : id;
      const order = { ...createTestHold(accountId, BigInt(chance.below(300))), keyId: chance.oneIn(2) ? key : newId() };
      if (chance.oneIn(8)) order.id = dayBefore(order.id);
      this.#orders.push(order);
      return order;
    });
    // A batch contains each ID only once, as a gateway would send it.
    const batch = [...new Map(orders.map((order) => [order.id, order])).values()];
    return act(`hold ${batch.length}`, async ({ ledger }) => {
      const outcomes = await Promise.all(batch.map((order) => ledger.hold(order)));
      return outcomes.map(({ kind }) => kind);
    });
  }

  #settlements(): Act {
    const chance = this.#chance;
    const endings = this.#some().map((order): Settlement => {
      const host = chance.oneIn(3) ? null : chance.pick(this.#parties.hosts);
      const withheld = { hostId: chance.pick(this.#parties.hosts), reason: chance.pick(WITHHELD_REASONS) };
      const most = Number(order.amount);
      const charge = pico(BigInt(chance.oneIn(10) ? most + 1 : chance.below(most + 1)));
      const settlement = { ...createTestSettlement(order, host), nodeId: newId(), charge };
      return host === null && chance.oneIn(2) ? { ...settlement, withheld } : settlement;
    });
    return act(`settle ${endings.length}`, async ({ ledger }) => {
      const outcomes = await Promise.allSettled(endings.map((ending) => ledger.trySettling(ending)));
      return outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : "refused"));
    });
  }

  #transfer(): Act {
    const chance = this.#chance;
    const again = this.#transfers.length > 0 && chance.oneIn(5) ? chance.pick(this.#transfers) : undefined;
    const isHost = chance.oneIn(4);
    const transfer = again ?? {
      id: newId(),
      kind: isHost ? ("payout" as const) : chance.pick(["grant", "purchase", "grant", "refund", "dispute"] as const),
      accountId: isHost ? chance.pick(this.#parties.hosts) : chance.pick(this.#parties.builders).id,
      amount: pico(BigInt(chance.between(1, 500))),
      reason: "differential",
    };
    this.#transfers.push(transfer);
    return act(transfer.kind, ({ ledger }) => ledger.transfer(transfer));
  }

  /** Returns a step with the payment provider's events about any checkout, in any order, some of them repeated. */
  #news(): Act {
    const chance = this.#chance;
    const { id, session } = chance.pick(this.#parties.checkouts);
    const payment = `pi_${id}`;
    const money = { minor: 1n, currency: "usd" };
    const paid = {
      kind: "session",
      session,
      reference: publicId("pay", id),
      payment,
      seen: "paid",
      total: money,
    } as const;
    const reversal = { kind: "reversal", payment, amount: money } as const;
    const refund = { ...reversal, reversal: "refund", id: `re_${id}`, status: "" } as const;
    const dispute = { ...reversal, reversal: "dispute", id: `dp_${id}`, status: "" } as const;
    const told: PaymentEventContent = chance.pick<PaymentEventContent>([
      paid,
      paid,
      { kind: "refunded", payment, total: money },
      { ...refund, status: chance.pick(["pending", "succeeded", "failed"]) },
      { ...dispute, status: chance.pick(["needs_response", "won", "lost"]) },
    ]);
    const occurredAt = new Date(1_900_000_000_000 + chance.below(4) * 1_000);
    const event: ProviderEvent = { id: `evt_${newId()}`, type: told.kind, live: true, occurredAt, news: told };
    return act(`news of a payment: ${told.kind}`, ({ pool }) =>
      processEvent({ pool, newId, onFailed: () => Promise.reject(new Error("none is automatic")) }, event),
    );
  }

  #batch(): Act {
    const [minimum, holdDays] = [pico(BigInt(this.#chance.pick([0, 50]))), this.#chance.pick([0, 0, 7])];
    const id = newId();
    this.#batches.push(id);
    return act(`a batch from ${minimum}, ${holdDays} days held back`, async ({ pool }) => {
      const payouts = openPayoutBatches({ pool, newId: () => id, holdDays });
      const batch = await payouts.create({ note: "", by: "differential", minimum });
      if (batch === undefined) return undefined;
      const { hosts, total, heldBack, setOff, withheld, paidAt } = batch;
      return { hosts, total, heldBack, setOff, withheld, isPaid: paidAt !== null };
    });
  }

  #paid(id: Uuid): Act {
    return act("a batch is paid", async ({ pool }) => {
      const outcome = await openPayoutBatches({ pool, newId, holdDays: 0 }).markPaid(id, "differential");
      return typeof outcome === "string" ? outcome : outcome.exceedsBalance.length;
    });
  }

  /** Returns some of the earlier holds, each once, and sometimes one that neither database contains. */
  #some(): HoldOrder[] {
    const chance = this.#chance;
    const { builders } = this.#parties;
    const known = new Set(this.#orders.filter(({ accountId }) => builders.some(({ id }) => id === accountId)));
    const some = [...known].filter(() => chance.oneIn(4)).slice(-6);
    return chance.oneIn(8) ? [...some, createTestHold(chance.pick(builders).id, 10n)] : some;
  }
}

const act = (name: string, on: Act["on"]): Act => ({ name, on, runsOut: [] });

function dayBefore(id: Uuid): Uuid {
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) - DAY_MS;
  const time = ms.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}${id.slice(13)}` as Uuid;
}
