import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Away } from "../base/dependency.ts";
import { isAway, isConnectionLoss, isStorageTrouble, provesBug } from "./errors.ts";
import { openTestDatabase, type TestDatabase } from "./testing.ts";

const coded = (code: string, more: object = {}): Error => Object.assign(new Error("x"), { code, ...more });

/** Whether the outcome is open, and whether the same may go well later. */
const TABLE: [name: string, error: unknown, loss: boolean, trouble: boolean][] = [
  ["the store is known to be away", new Away("database", "x"), true, true],
  ["refused by the system", coded("ECONNREFUSED"), true, true],
  ["no socket file", coded("ENOENT", { syscall: "connect" }), true, true],
  ["a file that is missing", coded("ENOENT", { syscall: "open" }), false, false],
  ["no space on our own disk", coded("ENOSPC"), false, true],
  ["08006 connection failure", coded("08006"), true, true],
  ["57P01 shut down", coded("57P01"), true, true],
  ["57P03 starting", coded("57P03"), true, true],
  ["53300 too many connections", coded("53300"), true, true],
  ["25006 no longer the primary", coded("25006"), true, true],
  ["53100 disk full", coded("53100"), false, true],
  ["53200 out of memory", coded("53200"), false, true],
  ["58030 input or output", coded("58030"), false, true],
  ["40001 serialization", coded("40001"), false, true],
  ["40P01 deadlock", coded("40P01"), false, true],
  ["55P03 lock not available", coded("55P03"), false, true],
  // It was rolled back, so the outcome is known; and a batch that takes too long is better sent in parts.
  ["57014 took too long", coded("57014"), false, true],
  ["XX000 PostgreSQL's own bug", coded("XX000"), false, true],
  ["42501 a right that is missing", coded("42501"), false, true],
  ["22003 out of range", coded("22003"), false, false],
  ["23505 unique", coded("23505"), false, false],
  ["42P01 no such table", coded("42P01"), false, false],
  ["P0001 raised", coded("P0001"), false, false],
  ["a TypeError", new TypeError("x"), false, false],
  ["no error at all", "x", false, false],
  ["wrapped", new Error("a lookup failed", { cause: coded("ECONNRESET") }), true, true],
  ["a bug, wrapped", new Error("a lookup failed", { cause: coded("23505") }), false, false],
  ["cut off", new Error("Connection terminated unexpectedly"), true, true],
  ["no connection in time", new Error("timeout exceeded when trying to connect"), true, true],
  ["no answer in time", new Error("Query read timeout"), true, true],
];

describe("what an error of the store says", () => {
  for (const [name, error, loss, trouble] of TABLE) {
    test(name, () => {
      assert.deepEqual([isConnectionLoss(error), isStorageTrouble(error), provesBug(error)], [loss, trouble, !trouble]);
    });
  }

  test("of what is away, only the store's is the store's", () => {
    assert.equal(isAway(new Error("x", { cause: new Away("database", "x") })), true);
    assert.equal(isAway(new Away("limits", "x")), false);
    assert.equal(isAway(coded("ECONNREFUSED")), false);
  });
});

describe("as PostgreSQL says it", () => {
  let database: TestDatabase;
  before(async () => {
    database = await openTestDatabase();
  });
  after(() => database.close());
  const failure = (sql: string): Promise<unknown> =>
    database.pool.query(sql).then(
      () => undefined,
      (error: unknown) => error,
    );

  for (const [sql, loss, trouble] of [
    ["select 1 / 0", false, false],
    ["select from nowhere", false, false],
    ["do $$ begin raise 'no'; end $$", false, false],
    ["begin read only; create table t ()", true, true],
    ["set statement_timeout = 1; select pg_sleep(9)", false, true],
    ["select pg_terminate_backend(pg_backend_pid())", true, true],
  ] as const) {
    test(sql, async () => {
      const error = await failure(sql);
      assert.deepEqual([isConnectionLoss(error), isStorageTrouble(error)], [loss, trouble], String(error));
    });
  }
});
