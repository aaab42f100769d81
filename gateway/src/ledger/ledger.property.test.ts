/**
 * Runs random operations on the ledger and compares the result with a simple model: concurrent holds, settlements,
 * repetitions, voids, expiries, transfers and budget changes on few accounts, from several gateways. Some order of the
 * operations must explain the result, and every invariant must hold. A failure prints the seed; TEST_SEED repeats it.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import fc from "fast-check";
import type pg from "pg";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { pico } from "../base/money.ts";
import { systemRandom } from "../base/random.ts";
import { computeHostShare, timeoutFreeClock } from "../base/testing.ts";
import { openPool } from "../db/pool.ts";
import { enableRowValidation } from "../db/rows.ts";
import { openTestDatabase, TEST_CONNECTION_TIMEOUT_MS, type TestDatabase } from "../db/testing.ts";
import { checkLedger } from "./check.ts";
import type { HoldOrder } from "./hold.ts";
import { type Ledger, openLedger } from "./ledger.ts";
import type { Settlement } from "./settlement-sql.ts";

const GATEWAYS = 3;
const BUILDERS = 3;
const BUDGET = 500n;
const DAY_MS = 86_400_000;
const newId = newIds(systemClock, systemRandom());

/** One request: the amount of its hold, and how it ends. */
const request = fc.record({
  kind: fc.constant("request" as const),
  builder: fc.nat(BUILDERS - 1),
  gateway: fc.nat(GATEWAYS - 1),
  amount: fc.bigInt({ min: 0n, max: 400n }),
  /** The charge in percent of the hold. */
  charged: fc.nat(100),
  end: fc.constantFrom("settle", "settle", "settle", "settle-twice", "void", "expire", "expire-then-settle"),
  paid: fc.boolean(),
  /** Whether the request uses the builder's key with a budget. */
  budgeted: fc.boolean(),
  /** The request was created before the last midnight, and is held now. */
  yesterday: fc.boolean(),
});
const transfer = fc.record({
  kind: fc.constant("transfer" as const),
  builder: fc.nat(BUILDERS - 1),
  gateway: fc.nat(GATEWAYS - 1),
  amount: fc.bigInt({ min: 1n, max: 300n }),
  what: fc.constantFrom("grant" as const, "refund" as const),
  twice: fc.boolean(),
});
const budget = fc.record({
  kind: fc.constant("budget" as const),
  builder: fc.nat(BUILDERS - 1),
  gateway: fc.nat(GATEWAYS - 1),
  day: fc.option(fc.bigInt({ min: BUDGET, max: 2n * BUDGET })),
  month: fc.option(fc.bigInt({ min: BUDGET, max: 2n * BUDGET })),
});

describe("the ledger under random concurrent operations", () => {
  let db: TestDatabase;
  let ledgers: Ledger[];
  const pools: ReturnType<typeof openPool>[] = [];
  before(async () => {
    db = await openTestDatabase();
    for (let i = 0; i < GATEWAYS; i++)
      pools.push(
        enableRowValidation(
          openPool(db.connection, { log: createLog("silent"), sizeMax: 3, connectMsMax: TEST_CONNECTION_TIMEOUT_MS }),
        ),
      );
    // A quarter of this lease is longer than the test. After a longer time without a sweep, the next sweep would expire
    // no hold and only extend the leases.
    const holdLeaseMs = 60 * 60 * 1000;
    ledgers = pools.map((pool, i) =>
      openLedger({ pool, clock: timeoutFreeClock, gatewayId: `gateway-${i}`, holdLeaseMs }),
    );
    await (ledgers[0] as Ledger).expire();
  });
  after(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await db.close();
  });

  test("never overspends, keeps the sum of all entries at zero, and matches a simple model's balances", async () => {
    const seed = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
    const steps = fc.array(fc.oneof({ weight: 6, arbitrary: request }, transfer, budget), {
      minLength: 5,
      maxLength: 60,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        await play(history);
      }),
      { seed, numRuns: 40, endOnFailure: true },
    );
  });

  type Step = typeof request extends fc.Arbitrary<infer T> ? T : never;
  type Move = typeof transfer extends fc.Arbitrary<infer T> ? T : never;

  type Change = typeof budget extends fc.Arbitrary<infer T> ? T : never;

  const play = async (history: (Step | Move | Change)[]): Promise<void> => {
    const builders = await Promise.all(Array.from({ length: BUILDERS }, () => open("builder", 1000n)));
    const host = await open("host", 0n);
    const keys = await Promise.all(builders.map(openKey));
    // The expected balance of each builder: transfers minus charges.
    const expected = builders.map(() => 1000n);
    let shares = 0n;
    await Promise.all(
      history.map(async (step) => {
        const ledger = ledgers[step.gateway] as Ledger;
        const accountId = builders[step.builder] as Uuid;
        if (step.kind === "transfer") {
          const order = { id: newId(), kind: step.what, accountId, amount: pico(step.amount), reason: "property" };
          const outcomes = await Promise.all(
            step.twice ? [ledger.transfer(order), ledger.transfer(order)] : [ledger.transfer(order)],
          );
          assert.equal(outcomes.filter((outcome) => outcome === "moved").length, 1);
          expected[step.builder] =
            (expected[step.builder] as bigint) + (step.what === "grant" ? step.amount : -step.amount);
          return;
        }
        const keyId = keys[step.builder] as Uuid;
        if (step.kind === "budget") {
          await (pools[step.gateway] as pg.Pool).query(SET_BUDGET, [accountId, keyId, step.day, step.month]);
          return;
        }
        const charge = await live(ledger, step, { accountId, keyId: step.budgeted ? keyId : newId(), host });
        expected[step.builder] = (expected[step.builder] as bigint) - charge;
        if (step.paid) shares += computeHostShare(charge);
      }),
    );
    await Promise.all(ledgers.map((ledger) => ledger.idle()));
    for (const [i, id] of builders.entries()) {
      const found = await (ledgers[0] as Ledger).balance(id);
      assert.deepEqual(found, { balance: expected[i], held: 0n }, `builder ${i}`);
    }
    assert.equal((await (ledgers[0] as Ledger).balance(host))?.balance, shares);
    const differing = (await checkLedger(db.pool)).filter(
      (check) => check.differences.length > 0 && !check.name.includes("counts times"),
    );
    assert.deepEqual(differing, []);
    // The budgets were only raised, so no day or month of a key may exceed the largest budget.
    const { rows: passed } = await db.pool.query(
      `select key_id, sum(charge_pico) from usage_hour where key_id = any ($1)
        group by key_id, date_trunc($2, hour at time zone 'UTC') having sum(charge_pico) > $3`,
      [history.some(({ kind }) => kind === "budget") ? [] : keys, "day", BUDGET],
    );
    assert.deepEqual(passed, []);
  };

  /** Creates a key with a daily budget. */
  const openKey = async (accountId: Uuid): Promise<Uuid> => {
    const id = newId();
    await db.pool.query("insert into account (id, kind, name) values ($1, 'builder', 'property')", [accountId]);
    await db.pool.query(
      `insert into api_key (id, account_id, name, reference, secret_hash)
       values ($1, $2, 'k', $3::text, sha256($3::text::bytea))`,
      [id, accountId, id.replaceAll("-", "").slice(20)],
    );
    await db.pool.query(SET_BUDGET, [accountId, id, BUDGET, null]);
    return id;
  };

  /** Runs one request to its end and returns its charge. */
  const live = async (
    ledger: Ledger,
    step: Step,
    { accountId, keyId, host }: { accountId: Uuid; keyId: Uuid; host: Uuid },
  ): Promise<bigint> => {
    const order = { ...holdOrder(accountId, step.amount), keyId };
    if (step.yesterday) order.id = dayBefore(order.id);
    const outcome = await ledger.hold(order);
    if (outcome.kind === "exceeds_balance" || outcome.kind === "exceeds_budget") {
      assert.ok(outcome.available < step.amount, "refused although it fitted");
    }
    if (outcome.kind !== "held") return 0n;
    const charge = (step.amount * BigInt(step.charged)) / 100n;
    const ending = settlement(order, charge, step.paid ? host : null);
    // The gateway that repeats operations, as after a lost connection.
    const other = ledgers[(step.gateway + 1) % GATEWAYS] as Ledger;
    switch (step.end) {
      case "settle":
        assert.equal(await ledger.settle(ending), "settled");
        return charge;
      case "settle-twice": {
        const outcomes = await Promise.all([ledger.settle(ending), other.settle(ending)]);
        assert.deepEqual(outcomes.sort(), ["repeated", "settled"]);
        return charge;
      }
      case "void":
        await Promise.all([ledger.void(order.id), other.void(order.id)]);
        return 0n;
      default: {
        await db.pool.query("update hold set expires_at = now() - interval '1 second' where id = $1", [order.id]);
        // A sweep skips accounts that are locked at that moment.
        await eventually("the hold has ended", async () => {
          await Promise.all([ledger.expire(), other.expire()]);
          return (await db.pool.query("select from hold where id = $1", [order.id])).rowCount === 0;
        });
        if (step.end === "expire") return 0n;
        // Other requests may have spent the released credit, so a late settlement charges the amount left, once.
        const outcomes = await Promise.all([ledger.settle(ending), other.settle(ending)]);
        assert.deepEqual(outcomes.sort(), ["late", "repeated"]);
        return await chargedLate(order.id, charge);
      }
    }
  };

  const chargedLate = async (id: Uuid, charge: bigint): Promise<bigint> => {
    const { rows } = await db.pool.query("select charge_pico, short_pico, outcome from request where id = $1", [id]);
    assert.deepEqual([rows[0].charge_pico + rows[0].short_pico, rows[0].outcome], [charge, "ok"]);
    return rows[0].charge_pico;
  };

  const open = async (kind: "builder" | "host", credit: bigint): Promise<Uuid> => {
    const id = newId();
    await db.pool.query("insert into ledger_account (id, kind) values ($1, $2)", [id, kind]);
    if (credit > 0n) {
      await (ledgers[0] as Ledger).transfer({
        id: newId(),
        kind: "grant",
        accountId: id,
        amount: pico(credit),
        reason: "start",
      });
    }
    return id;
  };
});

const SET_BUDGET = "select key_budget_set($1, $2, $3, $4)";

function dayBefore(id: Uuid): Uuid {
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) - DAY_MS;
  const time = ms.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}${id.slice(13)}` as Uuid;
}

function holdOrder(accountId: Uuid, amount: bigint): HoldOrder {
  return {
    id: newId(),
    accountId,
    amount: pico(amount),
    keyId: newId(),
    keyName: "property",
    endpoint: "chat",
    model: "tiny-3b",
    build: "b",
    tokenizer: "t",
    stream: false,
    promptTokens: 1,
    priceVersion: 1,
    client: "",
  };
}

function settlement(order: HoldOrder, charge: bigint, paidHostId: Uuid | null): Settlement {
  return {
    id: order.id,
    accountId: order.accountId,
    nodeId: newId(),
    paidHostId,
    charge: pico(charge),
    outcome: "ok",
    httpStatus: 200,
    finishReason: "stop",
    completionTokens: 1,
    reasoningTokens: 0,
    attempts: 1,
    queueMs: 0,
    ttftMs: 0,
    durationMs: 0,
  };
}
