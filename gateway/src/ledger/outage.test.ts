/**
 * The ledger on a database that fails in every known way. Every answered request is charged once, and no caller waits
 * long for the database.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import type pg from "pg";
import { UnreachableError } from "../base/dependency.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { formatExactMicrodollars, pico } from "../base/money.ts";
import { type ManualClock, manualClock, waitOneTurn } from "../base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { checkLedger } from "./check.ts";
import { openGivenUpSettlements } from "./given-up-settlements.ts";
import type { HoldOrder } from "./hold.ts";
import { openHoldLeases } from "./leases.ts";
import { type Ledger, openLedger } from "./ledger.ts";
import { openSpool } from "./spool.ts";
import { enterSettlementsInLedger, findUnsettledRequests, readSpools } from "./spool-folder.ts";
import { readLines } from "./spool-lines.ts";
import { openSpoolReplay } from "./spool-replay.ts";
import { createSpoolDirectory, createTestHold, createTestSettlement, newId, TEST_CHARGE } from "./testing.ts";

/** How long a hold or an answer waits for the database, and after which time a settlement is written to disk. */
const [ANSWER_MS, SPOOL_MS] = [2_000, 1_000];
const HOUR_MS = 3_600_000;

const coded = (code: string): Error => Object.assign(new Error(`refused with ${code}`), { code });

describe("settling during database failures", () => {
  let db: TestDatabase;
  let builder: Uuid;
  let host: Uuid;
  before(async () => {
    db = await openTestDatabase();
    await db.pool.query("insert into price values (1, 'tiny-3b', 20000, 40000)");
    [builder, host] = [newId(), newId()];
    await db.pool.query("insert into ledger_account (id, kind) values ($1, 'builder'), ($2, 'host')", [builder, host]);
    await db.pool.query("select ledger_transfer($1, 'grant', $2, 100000000000, 'test')", [newId(), builder]);
  });
  after(() => db.close());

  interface Trouble {
    /** The error of a query: `before` it is sent, or `after` it was executed. Undefined: the query succeeds. */
    before?: () => Error;
    after?: () => Error;
    /** If set, queries wait for this promise. */
    hangs?: Promise<void>;
  }
  /** Advances the clock in steps until the condition holds. */
  const passing = <T>(what: string, clock: ManualClock, check: () => T | Promise<T>) =>
    eventually(what, () => {
      clock.advance(100);
      return check();
    });
  /**
   * Opens a ledger whose queries fail as the test says, and its log. Its clock stands still, so that a slow machine
   * does not matter.
   */
  const open = async (
    t: TestContext,
    options: { directory?: string; gatewayId?: string; trouble?: Trouble; giveUpAfterMs?: number } = {},
  ) => {
    const { directory = await createSpoolDirectory(t), gatewayId = newId(), trouble = {}, giveUpAfterMs } = options;
    const lines: { level: number; msg: string; request?: string }[] = [];
    const [asked, done]: [string[], string[]] = [[], []];
    const clock = manualClock(Date.now());
    const log = createLog("info", { write: (line) => void lines.push(JSON.parse(line)) });
    const spool = await openSpool({ directory, gatewayId, clock, log });
    const pool = new Proxy(db.pool, {
      get(target, name) {
        const value = Reflect.get(target, name);
        if (name !== "query") return typeof value === "function" ? value.bind(target) : value;
        return async (...args: Parameters<pg.Pool["query"]>) => {
          const query = (args[0] as unknown as { statement?: string }).statement ?? "";
          asked.push(query);
          await trouble.hangs;
          if (trouble.before !== undefined) throw trouble.before();
          const result = await (target.query as (...all: unknown[]) => Promise<unknown>)(...args);
          done.push(query);
          if (trouble.after !== undefined) throw trouble.after();
          return result;
        };
      },
    });
    const ledger = openLedger({
      pool,
      clock,
      gatewayId,
      spool,
      log,
      holdLeaseMs: HOUR_MS,
      ...(giveUpAfterMs !== undefined && { giveUpAfterMs }),
    });
    t.after(async () => {
      await ledger.close();
      await spool.close();
    });
    return { ledger, clock, trouble, lines, directory, spool, asked, done };
  };
  const held = async (ledger: Ledger): Promise<HoldOrder> => {
    const hold = createTestHold(builder);
    assert.deepEqual(await ledger.hold(hold), { kind: "held" });
    return hold;
  };
  const onDisk = async (directory: string): Promise<Uuid[]> => {
    const names = (await readdir(directory)).filter((name) => name.endsWith(".spool"));
    const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
    return texts.flatMap((text) => readLines(text).settlements.map(({ id }) => id));
  };
  const chargesOf = async (id: Uuid): Promise<bigint[]> => {
    const { rows } = await db.pool.query(
      "select -amount as charge from ledger_entry where operation = $1 and kind = 'charge'",
      [id],
    );
    return rows.map(({ charge }) => BigInt(charge));
  };
  const isCharged = async (id: Uuid): Promise<boolean> => (await chargesOf(id)).length > 0;
  const assertLedger = async (): Promise<void> => {
    const differing = (await checkLedger(db.pool)).filter(({ differences }) => differences.length > 0);
    assert.deepEqual(differing, []);
  };
  const without = (trouble: Trouble): void => {
    for (const name of ["before", "after", "hangs"] as const) delete trouble[name];
  };

  const troubles: [string, Trouble][] = [
    ["the database's disk is full", { before: () => coded("53100") }],
    ["the database is read-only", { before: () => coded("25006") }],
    ["the database cannot read its own pages", { before: () => coded("XX001") }],
    ["a grant is missing", { before: () => coded("42501") }],
    ["a pooler mixes up prepared statements", { before: () => coded("42P05") }],
    ["a prepared statement is gone", { before: () => coded("26000") }],
    ["a table is missing during a restore", { before: () => coded("42P01") }],
    ["a function is missing during a restore", { before: () => coded("42883") }],
    ["a plan's columns changed", { before: () => coded("0A000") }],
    ["the connection is lost before the commit", { before: () => coded("ECONNRESET") }],
    ["the connection is lost after the commit", { after: () => new Error("Connection terminated unexpectedly") }],
    ["the database is known to be unreachable", { before: () => new UnreachableError("database", "no answer") }],
  ];
  for (const [what, how] of troubles) {
    test(`${what}: writes the settlement to disk at once, and later enters it in the ledger once`, async (t) => {
      const { ledger, clock, trouble, lines, directory } = await open(t);
      const holds = [await held(ledger), await held(ledger)];
      Object.assign(trouble, how);
      await Promise.all(holds.map((hold) => ledger.secure(createTestSettlement(hold, host))));
      assert.deepEqual((await onDisk(directory)).sort(), holds.map(({ id }) => id).sort());
      assert.deepEqual(ledger.unsettled().sort(), holds.map(({ id }) => id).sort());
      await ledger.idle();
      without(trouble);
      for (const { id } of holds) await passing("it is charged", clock, () => isCharged(id));
      await eventually("nothing waits", () => ledger.unsettled().length === 0);
      await eventually("the disk is empty", async () => (await onDisk(directory)).length === 0);
      for (const { id } of holds) assert.deepEqual(await chargesOf(id), [TEST_CHARGE]);
      const { spooled, committed, unsafe, givenUp } = ledger.tallies;
      assert.deepEqual([spooled, committed, unsafe, givenUp], [2, 2, 0, 0]);
      assert.equal(lines.length, 2, "an outage is two lines");
      assert.match(lines[0]?.request ?? "", /^req_/);
      await assertLedger();
    });
  }

  test("writes the settlement to disk after 1 s if the account is locked, and later enters it in the ledger once", async (t) => {
    const { ledger, clock, trouble, directory } = await open(t);
    const holds = [await held(ledger), await held(ledger)];
    trouble.before = () => coded("55P03");
    const secured = Promise.all(holds.map((hold) => ledger.secure(createTestSettlement(hold, host))));
    await passing("they are on the disk", clock, async () => (await onDisk(directory)).length === holds.length);
    await secured;
    without(trouble);
    for (const { id } of holds) await passing("it is charged", clock, () => isCharged(id));
    await passing("nothing waits", clock, () => ledger.unsettled().length === 0);
    for (const { id } of holds) assert.deepEqual(await chargesOf(id), [TEST_CHARGE]);
    assert.deepEqual([ledger.tallies.committed, ledger.tallies.givenUp], [2, 0]);
    await assertLedger();
  });

  test("writes a settlement to disk after 1 s if the database hangs, later ones at once, and closes without waiting", async (t) => {
    const { ledger, clock, trouble, directory } = await open(t);
    const holds = [await held(ledger), await held(ledger)];
    const hanging = Promise.withResolvers<void>();
    trouble.hangs = hanging.promise;
    const [first, second] = holds as [HoldOrder, HoldOrder];
    const secured = ledger.secure(createTestSettlement(first, host));
    clock.advance(SPOOL_MS);
    await secured;
    await ledger.secure(createTestSettlement(second, host));
    assert.deepEqual(
      await onDisk(directory),
      holds.map(({ id }) => id),
    );
    assert.equal(ledger.tallies.unsafe, 0);
    await ledger.close();
    hanging.resolve();
    for (const { id } of holds) await eventually("what was on its way is done", () => isCharged(id));
    await assertLedger();
  });

  test("charges each spooled settlement once after the gateway was killed", async (t) => {
    const first = await open(t);
    const holds = [await held(first.ledger), await held(first.ledger), await held(first.ledger)];
    first.trouble.before = () => coded("57P03");
    await Promise.all(holds.map((hold) => first.ledger.secure(createTestSettlement(hold, host))));
    await first.ledger.close();
    // One of the leases has expired meanwhile.
    const [late] = holds as [HoldOrder];
    await db.pool.query("update hold set expires_at = now() - interval '1 second' where id = $1", [late.id]);
    await db.pool.query("update hold_sweep set at = now()");
    assert.equal((await db.pool.query("select ledger_expire(10) as expired")).rows[0].expired, 1);

    const second = await open(t, { directory: first.directory });
    const replay = openSpoolReplay({
      spool: second.spool,
      clock: second.clock,
      log: createLog("silent"),
      ledger: second.ledger,
    });
    t.after(() => replay.stop());
    await replay.run();
    await replay.run();
    for (const { id } of holds) assert.deepEqual(await chargesOf(id), [TEST_CHARGE]);
    assert.deepEqual(await onDisk(first.directory), []);
    assert.deepEqual([second.ledger.tallies.late, second.ledger.tallies.committed], [1, 2]);
    await assertLedger();
  });

  test("lets another gateway settle a spooled request whose hold the database lost, only once and as a late settlement", async (t) => {
    const dead = await open(t);
    const hold = await held(dead.ledger);
    dead.trouble.before = () => coded("57P01");
    await dead.ledger.secure(createTestSettlement(hold, host));
    await db.pool.query(
      "with lost as (delete from hold where id = $1 returning *) update ledger_account a set held = a.held - lost.amount from lost where a.id = lost.account_id",
      [hold.id],
    );
    const next = await open(t, { directory: dead.directory });
    const settlements = (await readSpools(dead.directory)).flatMap((file) => file.settlements);
    const { waiting, charge } = await findUnsettledRequests(db.pool, settlements);
    assert.deepEqual([waiting.map(({ id }) => id), charge], [[hold.id], TEST_CHARGE]);
    assert.deepEqual(await enterSettlementsInLedger(next.ledger, settlements), { entered: 1, known: 0, givenUp: 0 });
    assert.deepEqual(await enterSettlementsInLedger(next.ledger, settlements), { entered: 0, known: 1, givenUp: 0 });
    assert.deepEqual(await chargesOf(hold.id), [TEST_CHARGE]);
    assert.equal(next.ledger.tallies.late, 1);
    assert.deepEqual((await findUnsettledRequests(db.pool, settlements)).waiting, []);
    await assertLedger();
  });

  test("logs the number, amount and location of charges left on disk at shutdown", async (t) => {
    const { ledger, trouble, lines, directory } = await open(t);
    const holds = [await held(ledger), await held(ledger)];
    trouble.before = () => coded("57P01");
    for (const hold of holds) await ledger.secure(createTestSettlement(hold, host));
    await ledger.close();
    const [line, ...others] = lines.filter(({ level }) => level === 50) as unknown as Record<string, unknown>[];
    assert.deepEqual(others, []);
    assert.match(String(line?.msg), /^stopped with charges that wait in the spool: /);
    assert.deepEqual(
      [line?.settlements, line?.chargeMicro, line?.directory],
      [2, formatExactMicrodollars(pico(2n * TEST_CHARGE)), directory],
    );
    without(trouble);
    const next = await open(t, { directory });
    const settlements = (await readSpools(directory)).flatMap((file) => file.settlements);
    await enterSettlementsInLedger(next.ledger, settlements);
    for (const { id } of holds) assert.deepEqual(await chargesOf(id), [TEST_CHARGE]);
    await assertLedger();
  });

  test("answers the client after 2 s if neither database nor disk accepts the settlement, and charges later", async (t) => {
    const { ledger, clock, trouble, lines, spool } = await open(t);
    const hold = await held(ledger);
    const append = t.mock.method(spool, "append", async () => {
      throw coded("ENOSPC");
    });
    trouble.before = () => coded("53100");
    const secured = ledger.secure(createTestSettlement(hold, host));
    await eventually("neither takes it", () => append.mock.callCount() > 0);
    clock.advance(ANSWER_MS);
    await secured;
    assert.equal(ledger.tallies.unsafe, 1);
    const errors = lines.filter(({ level }) => level >= 50);
    assert.ok(errors.length >= 2 && errors.every(({ request }) => request === publicId("req", hold.id)));
    append.mock.restore();
    await passing("the disk takes it first", clock, () => ledger.tallies.spooled === 1);
    await ledger.idle();
    without(trouble);
    await passing("it is charged", clock, () => isCharged(hold.id));
    await assertLedger();
  });

  test("keeps a settlement on disk when our own code throws an error, and logs it once", async (t) => {
    const { ledger, clock, trouble, lines, directory } = await open(t);
    const hold = await held(ledger);
    trouble.before = () => new TypeError("a bug");
    await ledger.secure(createTestSettlement(hold, host));
    assert.deepEqual(await onDisk(directory), [hold.id]);
    await passing("it is tried again", clock, () => ledger.tallies.retried > 3);
    const told = lines.filter(({ msg }) => msg === "settling a request failed unexpectedly; retrying");
    assert.deepEqual(
      told.map(({ level, request }) => [level, request]),
      [[50, publicId("req", hold.id)]],
    );
    without(trouble);
    await passing("it is charged", clock, () => isCharged(hold.id));
    assert.equal(ledger.tallies.givenUp, 0);
    await assertLedger();
  });

  /** A settlement that the database refuses: it charges more than the hold. */
  const refusedOf = (hold: HoldOrder) => ({ ...createTestSettlement(hold, host), charge: pico(hold.amount + 1n) });
  /** Waits until a settlement with refused values was tried again, after its longest pause. */
  const triedAgain = async ({ ledger, clock }: { ledger: Ledger; clock: ManualClock }): Promise<void> => {
    const { retried, givenUp } = ledger.tallies;
    await eventually("it is tried again", () => {
      clock.advance(60_000);
      return ledger.tallies.retried > retried || ledger.tallies.givenUp > givenUp;
    });
  };

  test("keeps a settlement on disk and retries it if the database refuses its values, and delays no other settlement", async (t) => {
    const { ledger, clock, directory } = await open(t);
    const [bad, good, later] = [await held(ledger), await held(ledger), await held(ledger)];
    // Makes the hold smaller than the charge, as in a partly restored database.
    const resize = async (by: bigint): Promise<void> => {
      await db.pool.query("update ledger_account set held = held + $2 where id = $1", [builder, by]);
      await db.pool.query("update hold set amount = amount + $2 where id = $1", [bad.id, by]);
    };
    await resize(1n - bad.amount);
    await Promise.all([bad, good].map((hold) => ledger.secure(createTestSettlement(hold, host))));
    assert.deepEqual(await chargesOf(good.id), [TEST_CHARGE]);
    await ledger.secure(createTestSettlement(later, host));
    assert.deepEqual(await chargesOf(later.id), [TEST_CHARGE]);
    assert.deepEqual([await onDisk(directory), ledger.unsettled()], [[bad.id], [bad.id]], "the others are not on disk");
    await resize(bad.amount - 1n);
    await eventually("it is charged", () => {
      clock.advance(60_000);
      return isCharged(bad.id);
    });
    assert.equal(ledger.tallies.givenUp, 0);
    await eventually("the disk is empty", async () => (await onDisk(directory)).length === 0);
    await assertLedger();
  });

  test("gives up only a settlement that the database refuses for a quarter of an hour while it accepts others, and records it", async (t) => {
    const { ledger, clock, lines, directory } = await open(t);
    const bad = await held(ledger);
    await ledger.secure(refusedOf(bad));
    clock.advance(16 * 60_000);
    await triedAgain({ ledger, clock });
    assert.equal(ledger.tallies.givenUp, 0, "the database has accepted none, and may be incomplete");
    await ledger.secure(createTestSettlement(await held(ledger), host));
    await triedAgain({ ledger, clock });
    await eventually("nothing waits", () => ledger.unsettled().length === 0);
    await eventually("the disk is empty", async () => (await onDisk(directory)).length === 0);
    await ledger.secure(createTestSettlement({ id: newId(), accountId: builder }, host));
    const notes = (await readFile(join(directory, "given-up.jsonl"), "utf8"))
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
    assert.equal(notes[0].request, publicId("req", bad.id));
    assert.match(notes[0].reason, /violates check constraint/);
    assert.deepEqual(readLines(`${notes[0].line}\n`).settlements[0]?.hold, bad);
    assert.match(notes[1].reason, /the database has neither the request's hold nor its record/);
    assert.equal(ledger.tallies.givenUp, 2);
    const told = lines.filter(({ msg }) => msg.startsWith("gave up a settlement"));
    assert.equal(told[0]?.request, notes[0].request);
    await ledger.void(bad.id);
    await assertLedger();
  });

  test("still counts a given-up settlement after a restart, until it is entered in the ledger", async (t) => {
    const { ledger, directory, spool } = await open(t, { giveUpAfterMs: 0 });
    const before = await openGivenUpSettlements(db.pool).count();
    const hold = await held(ledger);
    const settlement = createTestSettlement(hold, host);
    await ledger.secure({ ...settlement, charge: pico(hold.amount + 1n) });
    await ledger.close();
    await spool.close();
    // Another gateway counts the given-up settlement, even after its request was recorded as lost when the lease
    // expired.
    const other = await open(t, { directory });
    assert.equal(await openGivenUpSettlements(db.pool).count(), before + 1);
    await other.ledger.expire();
    await db.pool.query("update hold set expires_at = now() - interval '1 second' where id = $1", [hold.id]);
    assert.equal(await other.ledger.expire(), 1);
    assert.equal(await openGivenUpSettlements(db.pool).count(), before + 1);
    assert.equal(await other.ledger.trySettling(settlement), "late");
    assert.equal(await openGivenUpSettlements(db.pool).count(), before);
    await openGivenUpSettlements(db.pool).prune();
    const { rowCount } = await db.pool.query("select from settlement_given_up where request_id = $1", [hold.id]);
    assert.equal(rowCount, 0);
    await assertLedger();
  });

  test("keeps a settlement on disk if the database refuses it, until it is recorded as given up", async (t) => {
    const { ledger, clock, directory, spool } = await open(t);
    const hold = await held(ledger);
    await ledger.secure(refusedOf(hold));
    assert.deepEqual(await onDisk(directory), [hold.id]);
    t.mock.method(spool, "giveUp", async () => {
      throw coded("ENOSPC");
    });
    await ledger.secure(createTestSettlement(await held(ledger), host));
    clock.advance(16 * 60_000);
    await eventually("nothing waits", () => {
      clock.advance(60_000);
      return ledger.unsettled().length === 0;
    });
    assert.equal(ledger.tallies.givenUp, 1);
    await spool.close();
    assert.deepEqual(await onDisk(directory), [hold.id]);

    // Another gateway opens the same spool directory.
    const other = await open(t, { directory });
    const giveUp = t.mock.method(other.spool, "giveUp", async () => {
      throw coded("ENOSPC");
    });
    const replay = openSpoolReplay({ ...other, log: createLog("silent"), isAlive: () => false });
    t.after(() => replay.stop());
    assert.equal(await replay.run(), false);
    await other.ledger.secure(createTestSettlement(await held(other.ledger), host));
    other.clock.advance(16 * 60_000);
    await replay.run();
    assert.ok(giveUp.mock.callCount() > 0);
    assert.deepEqual(await onDisk(directory), [hold.id]);
    giveUp.mock.restore();
    await replay.run();
    assert.deepEqual(await onDisk(directory), [], "written down");
    await other.ledger.void(hold.id);
    await assertLedger();
  });

  test("waits at shutdown for settlements that are being written to the database", async (t) => {
    const { ledger, trouble, directory } = await open(t);
    const hold = await held(ledger);
    const hanging = Promise.withResolvers<void>();
    trouble.hangs = hanging.promise;
    const secured = ledger.secure(createTestSettlement(hold, host));
    let isClosed = false;
    const closed = ledger.close().then(() => {
      isClosed = true;
    });
    for (let turns = 0; turns < 10; turns++) await waitOneTurn();
    assert.equal(isClosed, false);
    hanging.resolve();
    await Promise.all([secured, closed]);
    assert.deepEqual([await chargesOf(hold.id), await onDisk(directory)], [[TEST_CHARGE], []]);
  });

  test("retries a settlement if a migration replaces the SQL function while the settlement runs", async (t) => {
    const { ledger, trouble } = await open(t);
    const [mine, anothers] = [await held(ledger), await held(ledger)];
    const onceTheTableIsGone = (): void => {
      trouble.before = () => {
        without(trouble);
        return coded("42P01");
      };
    };
    onceTheTableIsGone();
    assert.equal(await ledger.settle(createTestSettlement(mine, host)), "settled");
    onceTheTableIsGone();
    assert.equal(await ledger.trySettling(createTestSettlement(anothers, host)), "settled");
    assert.equal(ledger.tallies.givenUp, 0);
    await assertLedger();
  });

  test("releases a hold that the database committed although the connection broke and the client got an error", async (t) => {
    const { ledger, clock, trouble, done } = await open(t);
    trouble.after = () => coded("ECONNRESET");
    const asked = ledger.hold(createTestHold(builder));
    await eventually("the store took it", () => done.length > 0);
    without(trouble);
    trouble.before = () => coded("ECONNREFUSED");
    clock.advance(ANSWER_MS);
    await assert.rejects(asked, { code: "ECONNRESET" });
    assert.equal((await db.pool.query("select id from hold")).rows.length, 1);
    without(trouble);
    await passing(
      "it is given back",
      clock,
      async () => (await db.pool.query("select id from hold")).rows.length === 0,
    );
    const { rows } = await db.pool.query("select id from request where outcome = 'gateway_lost'");
    assert.deepEqual(rows, [], "and not recorded as lost");
  });

  test("refuses a hold after the database hung for 2 s, and releases it if the database accepted it", async (t) => {
    const { ledger, clock, trouble, asked, done } = await open(t);
    const hanging = Promise.withResolvers<void>();
    trouble.hangs = hanging.promise;
    const hold = ledger.hold(createTestHold(builder));
    const refused = assert.rejects(hold, UnreachableError);
    await eventually("the database is asked", () => asked.includes("ledger_hold_one"));
    clock.advance(ANSWER_MS);
    await refused;
    without(trouble);
    hanging.resolve();
    await eventually("it was taken and given back", () => done.includes("ledger_void"));
    assert.deepEqual(done, ["ledger_hold_one", "ledger_void"]);
    assert.equal((await ledger.balance(builder))?.held, 0n);
    await assertLedger();
  });

  test("reads the credit again one second after a slow hold started, not one second after its response", async (t) => {
    const { ledger, clock, trouble, asked } = await open(t);
    const hanging = Promise.withResolvers<void>();
    trouble.hangs = hanging.promise;
    const hold = createTestHold(builder);
    const holding = ledger.hold(hold);
    await eventually("the database is asked", () => asked.includes("ledger_hold_one"));
    clock.advance(600);
    without(trouble);
    hanging.resolve();
    assert.deepEqual(await holding, { kind: "held" });
    clock.advance(399);
    assert.equal(await ledger.hasCredit(builder), true);
    assert.ok(!asked.includes("ledger_credit"));
    clock.advance(1);
    assert.equal(await ledger.hasCredit(builder), true);
    assert.ok(asked.includes("ledger_credit"), "what the hold found is a second old");
    await ledger.void(hold.id);
  });

  test("refuses holds immediately while the database is unreachable", async (t) => {
    const { ledger, trouble } = await open(t);
    let queries = 0;
    trouble.before = () => {
      queries += 1;
      return new UnreachableError("database", "no answer");
    };
    await assert.rejects(ledger.hold(createTestHold(builder)), UnreachableError);
    assert.equal(queries, 1);
  });

  test("while the database is unreachable, refuses the client without waiting for the hold's release", async (t) => {
    const { ledger, clock, trouble } = await open(t);
    const hold = await held(ledger);
    trouble.before = () => coded("ECONNREFUSED");
    const voided = ledger.void(hold.id);
    clock.advance(ANSWER_MS);
    await voided;
    without(trouble);
    await passing("it is given back", clock, async () => (await ledger.holds(builder)) === 0);
  });
});

describe("renewing leases while the database is unreachable", () => {
  test("includes spooled settlements, repeats until it succeeds, and logs an outage once", async (t) => {
    const clock = manualClock();
    const lines: string[] = [];
    const log = createLog("debug", { write: (line) => void lines.push(line) });
    const renewed: Uuid[][] = [];
    let error: Error | undefined;
    const [alive, ended] = [newId(), newId()];
    const leases = openHoldLeases({
      clock,
      log,
      ledger: {
        async renew(ids) {
          if (error !== undefined) throw error;
          renewed.push(ids);
        },
        async expire() {
          if (error !== undefined) throw error;
          return 0;
        },
        unsettled: () => [ended],
      },
    });
    t.after(() => leases.stop());
    leases.keep(alive);
    const pass = async (seconds: number): Promise<void> => {
      for (let i = 0; i < seconds; i++) {
        clock.advance(1_000);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await pass(15);
    assert.deepEqual(renewed, [[alive, ended]]);
    error = new UnreachableError("database", "no answer");
    await pass(100);
    assert.equal(renewed.length, 1);
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).level),
      [20, 20],
      "of renewals and of sweeps, at debug: the store tells of its outage itself",
    );
    error = undefined;
    await pass(1);
    assert.equal(renewed.length, 2, "the moment it is back");
    await pass(13);
    assert.ok(renewed.length <= 3, "and then as before");
  });
});
