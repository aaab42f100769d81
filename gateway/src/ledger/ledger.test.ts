import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { after, before, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import pg from "pg";
import { type Clock, systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { dollars, type Pico, pico } from "../base/money.ts";
import { systemRandom } from "../base/random.ts";
import { computeHostShare, timeoutFreeClock } from "../base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { checkLedger } from "./check.ts";
import type { HoldOrder } from "./hold.ts";
import { type Ledger, openLedger } from "./ledger.ts";
import type { Settlement } from "./settlement-sql.ts";

const newId = newIds(systemClock, systemRandom());
const PLATFORM = "00000000-0000-0000-0000-000000000001" as Uuid;
const EXTERNAL = "00000000-0000-0000-0000-000000000002" as Uuid;

/** No lease expires during these tests, however slow the machine is. */
const HOUR_MS = 3_600_000;

describe("the ledger", () => {
  let db: TestDatabase;
  let ledger: Ledger;
  before(async () => {
    db = await openTestDatabase();
    const common = { clock: timeoutFreeClock, gatewayId: "test", holdLeaseMs: HOUR_MS };
    ledger = openLedger({ ...common, pool: db.pool, giveUpAfterMs: 0 });
    // Ends expired holds once, as every gateway does regularly. The time of leases stands still while no gateway does
    // this.
    await ledger.expire();
  });
  after(() => db.close());

  const openAccount = async (kind: "builder" | "host", credit = pico(0n)): Promise<Uuid> => {
    const id = newId();
    await db.pool.query("insert into ledger_account (id, kind) values ($1, $2)", [id, kind]);
    if (credit > 0n)
      await ledger.transfer({ id: newId(), kind: "grant", accountId: id, amount: credit, reason: "test" });
    return id;
  };
  const order = (accountId: Uuid, amount: bigint, id = newId()): HoldOrder => ({
    id,
    accountId,
    amount: pico(amount),
    keyId: newId(),
    keyName: 'quo"te, back\\slash {brace} NULL',
    endpoint: "chat",
    model: "tiny-3b",
    build: "tiny-3b-q4-1",
    tokenizer: "llama3",
    stream: false,
    promptTokens: 7,
    priceVersion: 1,
    client: "test",
  });
  const settlement = (hold: HoldOrder, charge: bigint, paidHostId: Uuid | null = null): Settlement => ({
    id: hold.id,
    accountId: hold.accountId,
    nodeId: paidHostId === null ? null : newId(),
    paidHostId,
    charge: pico(charge),
    outcome: "ok",
    httpStatus: 200,
    finishReason: "stop",
    completionTokens: 3,
    reasoningTokens: 0,
    attempts: 1,
    queueMs: 1,
    ttftMs: 2,
    durationMs: 3,
  });
  const balance = async (id: Uuid) => {
    const { rows } = await db.pool.query("select balance, held from ledger_book where id = $1", [id]);
    return rows[0] as { balance: bigint; held: bigint };
  };
  const entries = async (operation: Uuid): Promise<Map<string, bigint>> => {
    const { rows } = await db.pool.query("select account_id, amount from ledger_entry where operation = $1", [
      operation,
    ]);
    return new Map(rows.map((row) => [row.account_id, row.amount]));
  };

  /** Changes rows with the database's triggers and constraints disabled. */
  const tamper = async (sql: string, values: unknown[], table: string): Promise<void> => {
    await db.pool.query(`alter table ${table} disable trigger user`);
    await db.pool.query(sql, values);
    await db.pool.query(`alter table ${table} enable trigger user`);
  };

  test("hasCredit() needs no query after a hold, and returns the new state after a transfer", async () => {
    let queries = 0;
    const pool = new Proxy(db.pool, {
      get: (target, name) => {
        if (name === "query") queries += 1;
        const value = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const counted = openLedger({ pool, clock: timeoutFreeClock, gatewayId: "test", holdLeaseMs: HOUR_MS });
    const [rich, broke] = [await openAccount("builder", dollars(1)), await openAccount("builder")];
    await counted.hold(order(rich, 1n));
    queries = 0;
    assert.equal(await counted.hasCredit(rich), true);
    assert.equal(queries, 0);
    assert.equal(await counted.hasCredit(broke), false);
    assert.equal(await counted.hasCredit(newId()), false, "an account that there is not");
    assert.equal(queries, 2);
    await counted.transfer({ id: newId(), kind: "grant", accountId: broke, amount: pico(1n), reason: "test" });
    assert.equal(await counted.hasCredit(broke), true);
  });

  test("places a hold, charges the request, splits the charge 70 to 30 and refunds the rest of the hold", async () => {
    const builder = await openAccount("builder", dollars(5));
    const host = await openAccount("host");
    const platformBefore = (await balance(PLATFORM)).balance;
    const hold = order(builder, 9_830_400_001n);
    assert.deepEqual(await ledger.hold(hold), { kind: "held" });
    assert.deepEqual(await balance(builder), { balance: dollars(5), held: 9_830_400_001n });

    const charge = 1_000_003n as Pico;
    assert.equal(await ledger.settle(settlement(hold, charge, host)), "settled");

    assert.deepEqual(await balance(builder), { balance: dollars(5) - charge, held: 0n });
    assert.equal((await balance(host)).balance, 700_002n);
    assert.equal((await balance(PLATFORM)).balance - platformBefore, 300_001n);
    const lines = await entries(hold.id);
    assert.equal(
      [...lines.values()].reduce((sum, amount) => sum + amount, 0n),
      0n,
    );
    assert.deepEqual(
      lines,
      new Map<string, bigint>([
        [builder, -charge],
        [host, 700_002n],
        [PLATFORM, 300_001n],
      ]),
    );

    const { rows } = await db.pool.query(
      "select key_name, outcome, charge_pico, host_pico, hold_pico from request where id = $1",
      [hold.id],
    );
    assert.deepEqual(rows, [
      { key_name: hold.keyName, outcome: "ok", charge_pico: charge, host_pico: 700_002n, hold_pico: 9_830_400_001n },
    ]);
    const used = await db.pool.query(
      "select requests, prompt_tokens, completion_tokens, charge_pico from usage_hour where account_id = $1",
      [builder],
    );
    assert.deepEqual(used.rows, [{ requests: 1n, prompt_tokens: 7n, completion_tokens: 3n, charge_pico: charge }]);
  });

  test("changes nothing when an operation is repeated", async () => {
    const builder = await openAccount("builder", dollars(1));
    const hold = order(builder, 1000n);
    for (let i = 0; i < 3; i++) assert.deepEqual(await ledger.hold(hold), { kind: "held" });
    assert.equal((await balance(builder)).held, 1000n);
    assert.equal(await ledger.settle(settlement(hold, 400n)), "settled");
    assert.equal(await ledger.settle(settlement(hold, 400n)), "repeated");
    assert.deepEqual(await ledger.hold(hold), { kind: "ended" });
    assert.deepEqual(await balance(builder), { balance: dollars(1) - 400n, held: 0n });
    const grant = { id: newId(), kind: "grant", accountId: builder, amount: dollars(2), reason: "twice" } as const;
    assert.deepEqual(await Promise.all([ledger.transfer(grant), ledger.transfer(grant)]).then((r) => r.sort()), [
      "moved",
      "repeated",
    ]);
  });

  test("refuses a hold above the balance, a hold without credit and an unknown account", async () => {
    const builder = await openAccount("builder", pico(1000n));
    assert.deepEqual(await ledger.hold(order(builder, 600n)), { kind: "held" });
    assert.deepEqual(await ledger.hold(order(builder, 401n)), { kind: "exceeds_balance", available: 400n });
    assert.deepEqual(await ledger.hold(order(builder, 400n)), { kind: "held" });
    assert.deepEqual(await ledger.hold(order(builder, 1n)), { kind: "exceeds_balance", available: 0n });
    assert.deepEqual(await ledger.hold(order(await openAccount("builder"), 1n)), { kind: "no_credit" });
    assert.deepEqual(await ledger.hold(order(newId(), 1n)), { kind: "no_credit" });
  });

  test("refuses holds of a host account and negative holds, alone and in a batch", async () => {
    const [builder, host] = [await openAccount("builder", pico(1000n)), await openAccount("host", pico(1000n))];
    const hold = (accountId: Uuid, amount: bigint) => ledger.hold(order(accountId, amount)).catch(() => "refused");
    assert.deepEqual(await hold(host, 1n), { kind: "no_credit" });
    assert.deepEqual(await Promise.all([hold(host, 1n), hold(builder, 1n)]), [{ kind: "no_credit" }, { kind: "held" }]);
    assert.equal(await hold(builder, -1n), "refused");
    assert.deepEqual(await Promise.all([hold(builder, -1n), hold(builder, 1n)]), ["refused", { kind: "held" }]);
    assert.equal((await balance(builder)).held, 2n);
    assert.equal((await balance(host)).held, 0n);
  });

  test("accepts exactly as many of 200 concurrent holds as the balance covers, in order", async () => {
    const builder = await openAccount("builder", pico(3750n));
    const outcomes = await Promise.all(Array.from({ length: 200 }, () => ledger.hold(order(builder, 100n))));
    assert.equal(outcomes.filter(({ kind }) => kind === "held").length, 37);
    assert.deepEqual(
      outcomes.slice(0, 37).every(({ kind }) => kind === "held"),
      true,
    );
    assert.deepEqual(outcomes[199], { kind: "exceeds_balance", available: 50n });
    assert.equal((await balance(builder)).held, 3700n);
  });

  test("accepts a batch of holds that uses up the balance exactly", async () => {
    const builder = await openAccount("builder", pico(1000n));
    const outcomes = await Promise.all([600n, 401n, 400n, 1n].map((amount) => ledger.hold(order(builder, amount))));
    assert.deepEqual(outcomes, [
      { kind: "held" },
      { kind: "exceeds_balance", available: 400n },
      { kind: "held" },
      { kind: "exceeds_balance", available: 0n },
    ]);
    assert.deepEqual(await balance(builder), { balance: 1000n, held: 1000n });
  });

  test("fails only the invalid operation of a batch", async () => {
    const builder = await openAccount("builder", dollars(1));
    const [good, bad, alsoGood] = [order(builder, 10n), order(builder, 10n), order(builder, 10n)];
    await Promise.all([good, bad, alsoGood].map((o) => ledger.hold(o)));
    const results = await Promise.allSettled([
      ledger.settle(settlement(good, 10n)),
      ledger.settle(settlement(bad, 11n)), // The database refuses a charge above the hold.
      ledger.settle(settlement(alsoGood, 9n)),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    assert.deepEqual(await balance(builder), { balance: dollars(1) - 19n, held: 10n });
  });

  test("changes nothing when a settlement names an unknown host", async () => {
    const builder = await openAccount("builder", dollars(1));
    const hold = order(builder, 10n);
    await ledger.hold(hold);
    await assert.rejects(ledger.settle(settlement(hold, 10n, newId())), /does not exist/);
    assert.deepEqual(await balance(builder), { balance: dollars(1), held: 10n });
  });

  test("charges once when operations are repeated after lost connections", async () => {
    const builder = await openAccount("builder", dollars(100));
    const host = await openAccount("host");
    // Retries follow at once and without limit, so that the test does not depend on the time to connect.
    const untimed: Clock = { ...timeoutFreeClock, after: (_delayMs, run) => systemClock.after(0, run) };
    const persistent = openLedger({ pool: db.pool, clock: untimed, gatewayId: "test", holdLeaseMs: HOUR_MS });
    const CUTS = 40;
    const through = new EventEmitter();
    let running = true;
    let cuts = 0;
    const cutting = (async () => {
      const admin = new pg.Client(db.connection);
      await admin.connect();
      while (running && cuts < CUTS) {
        const next = once(through, "one");
        await admin.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()",
        );
        // Waits until an operation succeeds before it closes the connections again. Then it lets 0 to 4 turns of the
        // event loop pass, so that connections close at different points of a statement's execution.
        await next;
        for (let turns = cuts++ % 5; turns > 0; turns--) await turn();
      }
      await admin.end();
    })();
    let pairs = 0;
    try {
      for (; pairs < 400 || cuts < CUTS; pairs += 10) {
        await Promise.all(
          Array.from({ length: 10 }, async () => {
            const hold = order(builder, 1000n);
            assert.deepEqual(await persistent.hold(hold), { kind: "held" });
            through.emit("one");
            // `repeated`: the first try was committed before its connection broke.
            assert.match(await persistent.settle(settlement(hold, 10n, host)), /settled|repeated/);
            through.emit("one");
          }),
        );
      }
    } finally {
      running = false;
      through.emit("one");
      await cutting;
    }
    // Uses every connection once, because the pool may not have noticed the last closed one yet.
    await Promise.allSettled(Array.from({ length: db.pool.options.max }, () => db.pool.query("select")));
    assert.deepEqual(await balance(builder), { balance: dollars(100) - 10n * BigInt(pairs), held: 0n });
    assert.equal((await balance(host)).balance, computeHostShare(10n) * BigInt(pairs));
  });

  test("releases a voided hold, and records a request as lost when its lease expires", async () => {
    const builder = await openAccount("builder", dollars(1));
    const [voided, abandoned, renewed] = [order(builder, 10n), order(builder, 20n), order(builder, 40n)];
    await Promise.all([voided, abandoned, renewed].map((o) => ledger.hold(o)));
    await ledger.void(voided.id);
    assert.equal((await balance(builder)).held, 60n);
    await db.pool.query("update hold set expires_at = now() - interval '1 second' where account_id = $1", [builder]);
    await ledger.renew([renewed.id]);
    assert.equal(await ledger.expire(), 1);
    assert.deepEqual(await balance(builder), { balance: dollars(1), held: 40n });
    assert.equal(await ledger.settle(settlement(voided, 5n)), "unknown");
    const { rows } = await db.pool.query("select id, outcome, charge_pico from request where account_id = $1", [
      builder,
    ]);
    assert.deepEqual(rows, [{ id: abandoned.id, outcome: "gateway_lost", charge_pico: 0n }]);
  });

  test("renews the leases of other holds without waiting for a hold that its settlement has locked", async () => {
    const builder = await openAccount("builder", dollars(1));
    const [lasting, ending] = [order(builder, 10n), order(builder, 20n)];
    await Promise.all([lasting, ending].map((o) => ledger.hold(o)));
    await db.pool.query("update hold set expires_at = now() - interval '1 second' where account_id = $1", [builder]);
    const client = await db.pool.connect();
    try {
      await client.query("begin");
      await client.query("delete from hold where id = $1", [ending.id]);
      await ledger.renew([lasting.id, ending.id]);
      // Deletes the hold that was renewed, as a settlement would. This would wait without end if the renewal still had
      // the hold locked.
      await client.query("delete from hold where id = $1", [lasting.id]);
      await client.query("rollback");
    } finally {
      client.release();
    }
    assert.equal(await ledger.expire(), 1);
    assert.equal((await balance(builder)).held, 10n);
  });

  test("allows only a refund to make a balance negative, and refuses holds while it is", async () => {
    const builder = await openAccount("builder", pico(100n));
    const hold = order(builder, 80n);
    await ledger.hold(hold);
    assert.equal(
      await ledger.transfer({ id: newId(), kind: "refund", accountId: builder, amount: pico(150n), reason: "r" }),
      "moved",
    );
    assert.deepEqual(await balance(builder), { balance: -50n, held: 80n });
    assert.deepEqual(await ledger.hold(order(builder, 1n)), { kind: "no_credit" });
    assert.equal(await ledger.settle(settlement(hold, 80n)), "settled");
    assert.deepEqual(await balance(builder), { balance: -130n, held: 0n });
    const host = await openAccount("host");
    assert.equal(
      await ledger.transfer({ id: newId(), kind: "payout", accountId: host, amount: pico(1n), reason: "p" }),
      "exceeds_balance",
    );
    await assert.rejects(
      db.pool.query("update ledger_account set balance = balance - 1000000, overdrawn = false where id = $1", [
        builder,
      ]),
      /never_overspent/,
    );
  });

  test("deducts a debt from earnings once, up to the lower of the two amounts", async () => {
    const [builder, host] = [await openAccount("builder"), await openAccount("host", pico(100n))];
    await ledger.transfer({ id: newId(), kind: "dispute", accountId: builder, amount: pico(60n), reason: "d" });
    const setOff = async (id: Uuid, from: Uuid, to: Uuid, amount: bigint): Promise<number> => {
      const { rows } = await db.pool.query("select ledger_setoff($1, $2, $3, $4, 'test') as code", [
        id,
        from,
        to,
        amount,
      ]);
      return rows[0].code;
    };
    const [id, batch] = [newId(), newId()];
    const steps: [Uuid, Uuid, Uuid, bigint, number][] = [
      [newId(), host, builder, 61n, 0],
      [newId(), builder, host, 10n, -2],
      [newId(), host, newId(), 10n, -2],
      [newId(), host, PLATFORM, 10n, -2],
      [id, host, builder, 40n, 1],
      [id, host, builder, 40n, 2],
      [newId(), host, builder, 21n, 0],
    ];
    for (const [of, from, to, amount, code] of steps) assert.equal(await setOff(of, from, to, amount), code);
    assert.deepEqual([(await balance(host)).balance, (await balance(builder)).balance], [60n, -20n]);
    const { rows } = await db.pool.query("select overdrawn from ledger_account where id = $1", [builder]);
    assert.equal(rows[0].overdrawn, true);
    // This set-off was made by hand and belongs to no payout, so the ledger check must report it.
    const name =
      "every set-off in a payout matches a ledger transfer from the host's account to the indebted builder account";
    const differences = async () =>
      (await checkLedger(db.pool)).find((check) => check.name === name)?.differences.length;
    assert.equal(await differences(), 1);
    await db.pool.query("insert into account (id, kind, name) values ($1, 'host', 'h'), ($2, 'builder', 'b')", [
      host,
      builder,
    ]);
    await db.pool.query("insert into payout_batch (id, created_by) values ($1, 'test')", [batch]);
    await db.pool.query("insert into payout_setoff values ($1, $2, $3, $4, 40)", [id, batch, host, builder]);
    await db.pool.query("insert into payout values ($1, $2, $3, 0, 0, 40)", [newId(), batch, host]);
    assert.equal(await differences(), 0);
  });

  test("refuses to change or delete records of requests and transfers", async () => {
    const builder = await openAccount("builder", dollars(1));
    const host = await openAccount("host");
    const hold = order(builder, 10n);
    await ledger.hold(hold);
    await ledger.settle(settlement(hold, 10n, host));
    for (const change of [
      "charge_pico = 1",
      "host_pico = 1",
      "account_id = id",
      "host_account_id = null",
      `id = '${newId()}'`,
    ])
      await assert.rejects(
        db.pool.query(`update request set ${change} where id = $1`, [hold.id]),
        /append only/,
        change,
      );
    await db.pool.query("insert into ledger_closing values ('2020-01-01', $1, 'charge', -5, 1, 1, 1, $1, now())", [
      builder,
    ]);
    for (const table of ["request", "transfer", "ledger_closing"]) {
      await assert.rejects(db.pool.query(`delete from ${table}`), /append only/, table);
      await assert.rejects(db.pool.query(`truncate ${table} cascade`), /append only/, table);
    }
    for (const change of ["transfer set amount = 1", "ledger_closing set amount = -4"])
      await assert.rejects(db.pool.query(`update ${change}`), /append only/, change);
    for (const change of ["update ledger_entry set amount = 1", "delete from ledger_entry"])
      await assert.rejects(db.pool.query(change), /cannot (update|delete from) view/);
    await tamper("delete from ledger_closing", [], "ledger_closing");
  });

  test("passes the ledger check, which reports each kind of tampering", async () => {
    const differing = async (): Promise<string[]> => {
      // Skips one check, because these tests invent charges. Another test runs that check on a whole platform.
      const results = await checkLedger(db.pool);
      return results.filter((r) => r.differences.length > 0 && !r.name.includes("counts times")).map((r) => r.name);
    };
    assert.deepEqual(await differing(), []);
    const builder = await openAccount("builder", dollars(1));
    const host = await openAccount("host");
    const [open, settled] = [order(builder, 100n), order(builder, 100n)];
    await Promise.all([ledger.hold(open), ledger.hold(settled)]);
    await ledger.settle(settlement(settled, 50n, host));
    const tampered = async (sql: string, values: unknown[]): Promise<string[]> => {
      const admin = new pg.Client(db.connection);
      await admin.connect();
      const before = await db.pool.query("select balance, held from ledger_account where id = $1", [builder]);
      await admin.query(sql, values);
      const found = await differing();
      await admin.query("update ledger_account set balance = $2, held = $3 where id = $1", [
        builder,
        before.rows[0].balance,
        before.rows[0].held,
      ]);
      await admin.end();
      return found;
    };
    assert.deepEqual(await tampered("update ledger_account set balance = balance + 1 where id = $1", [builder]), [
      "every balance is the sum of its entries",
      "the balances of all accounts sum to zero",
    ]);
    assert.deepEqual(await tampered("update ledger_account set held = held - 1 where id = $1", [builder]), [
      "every account's held amount is the sum of its open holds",
    ]);
    await tamper("update request set host_pico = host_pico - 1 where id = $1", [settled.id], "request");
    assert.deepEqual((await differing()).toSorted(), [
      "every balance is the sum of its entries",
      "every host got its share of the charge for each request it served",
      "the balances of all accounts sum to zero",
      "the earnings rollups are the sums of their requests",
    ]);
    await tamper("update request set host_pico = host_pico + 1 where id = $1", [settled.id], "request");
    const { rows: moved } = await db.pool.query("select id from transfer where account_id = $1", [builder]);
    await tamper("update transfer set amount = amount - 1 where id = $1", [moved[0].id], "transfer");
    assert.deepEqual(await differing(), [
      "every balance is the sum of its entries",
      "the balances of all accounts sum to zero",
      "granted credit, spent and unspent together, never exceeds the grants",
    ]);
    await tamper("update transfer set amount = amount + 1 where id = $1", [moved[0].id], "transfer");
    assert.deepEqual(await tampered("update usage_hour set charge_pico = 0 where account_id = $1", [builder]), [
      "the usage rollups are the sums of their requests",
    ]);
    await db.pool.query("update usage_hour set charge_pico = 50 where account_id = $1", [builder]);
    assert.deepEqual(await differing(), []);
  });

  test("keeps every balance equal to the sum of its entries, even beyond 64 bits for the external account", async () => {
    const { rows } = await db.pool.query(
      `select a.id, a.balance::text, coalesce(sum(e.amount), 0)::text as entries
         from ledger_book a left join ledger_entry e on e.account_id = a.id
        group by a.id, a.balance having a.balance <> coalesce(sum(e.amount), 0)`,
    );
    assert.deepEqual(rows, []);
    // Three such amounts add up to more than 64 bits.
    for (let i = 0; i < 3; i++) await openAccount("builder", pico(8_000_000_000_000_000_000n));
    assert.ok((await balance(EXTERNAL)).balance < -(2n ** 63n));
  });
});
