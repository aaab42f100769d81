import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { UnreachableError } from "../base/dependency.ts";
import {
  isConnectionLoss,
  isDatabaseUnreachable,
  isDataFault,
  isProgrammingError,
  isRetryableDatabaseError,
} from "./errors.ts";
import { openTestDatabase, type TestDatabase } from "./testing.ts";

const coded = (code: string, more: object = {}): Error => Object.assign(new Error("x"), { code, ...more });

/**
 * Per error: whether it is a lost connection (unknown outcome), and whether it is a problem of the database rather than
 * a bug.
 */
const TABLE: [name: string, error: unknown, loss: boolean, trouble: boolean][] = [
  ["the database is known to be unreachable", new UnreachableError("database", "x"), true, true],
  ["refused by the system", coded("ECONNREFUSED"), true, true],
  ["no socket file", coded("ENOENT", { syscall: "connect" }), true, true],
  ["a missing file", coded("ENOENT", { syscall: "open" }), false, false],
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
  // The statement was rolled back, so the outcome is known. The batch is not sent again as a whole, but in parts.
  ["57014 query cancelled", coded("57014"), false, true],
  ["XX000 a bug of PostgreSQL's", coded("XX000"), false, true],
  ["42501 missing permission", coded("42501"), false, true],
  ["22003 out of range", coded("22003"), false, false],
  ["23505 unique", coded("23505"), false, false],
  ["42601 syntax", coded("42601"), false, false],
  ["42P01 no such table, as during a restore", coded("42P01"), false, true],
  ["42703 no such column", coded("42703"), false, true],
  ["42883 no such function", coded("42883"), false, true],
  ["42P05 duplicate prepared statement, as behind a pooler", coded("42P05"), false, true],
  ["26000 prepared statement gone", coded("26000"), false, true],
  ["0A000 the plan's columns changed", coded("0A000"), false, true],
  ["P0001 raised", coded("P0001"), false, false],
  ["a TypeError", new TypeError("x"), false, false],
  ["no error", "x", false, false],
  ["wrapped", new Error("a lookup failed", { cause: coded("ECONNRESET") }), true, true],
  ["a bug, wrapped", new Error("a lookup failed", { cause: coded("23505") }), false, false],
  ["connection cut", new Error("Connection terminated unexpectedly"), true, true],
  ["connection timeout", new Error("timeout exceeded when trying to connect"), true, true],
  ["query timeout", new Error("Query read timeout"), true, true],
];

describe("classifying database errors", () => {
  for (const [name, error, loss, trouble] of TABLE) {
    test(name, () => {
      assert.deepEqual(
        [isConnectionLoss(error), isRetryableDatabaseError(error), isProgrammingError(error)],
        [loss, trouble, !trouble],
      );
    });
  }

  test("isDatabaseUnreachable accepts only an unreachable database, not another dependency or a bare network error", () => {
    assert.equal(isDatabaseUnreachable(new Error("x", { cause: new UnreachableError("database", "x") })), true);
    assert.equal(isDatabaseUnreachable(new UnreachableError("limits", "x")), false);
    assert.equal(isDatabaseUnreachable(coded("ECONNREFUSED")), false);
  });
});

describe("PostgreSQL errors during a settlement", () => {
  /**
   * Every error class of PostgreSQL 18, with example codes. Only the classes marked `true` prevent a settlement
   * permanently: those for wrong data (21, 22, 23, 44) and the errors that our own functions raise (P0).
   */
  const CLASSES: [codes: string, isFinal: boolean][] = [
    ["03000 08000 08003 08006 08P01 09000 0A000 0B000 0F000 0L000 0P000 0Z000 10608 20000", false],
    ["21000", true],
    ["22000 22001 22003 22007 22012 22021 22P02 22P05", true],
    ["23000 23001 23502 23503 23505 23514 23P01", true],
    ["24000 25000 25001 25006 25P01 25P02 25P03 25P04 26000 27000 28000 28P01 2B000 2BP01 2D000 2F000", false],
    ["34000 38000 39000 3B000 3D000 3F000 40000 40001 40002 40003 40P01", false],
    [
      "42000 42501 42601 42602 42622 42701 42702 42703 42704 42710 42723 42725 42803 42804 42809 42830 42846 42883",
      false,
    ],
    ["42939 42P01 42P02 42P03 42P04 42P05 42P06 42P07 42P08 42P09 42P10 42P16 42P17 42P18 42P19 42P20", false],
    ["44000", true],
    ["53000 53100 53200 53300 53400 54000 54001 54011 54023 55000 55006 55P02 55P03 55P04", false],
    ["57000 57014 57P01 57P02 57P03 57P04 57P05 58000 58030 58P01 58P02 72000 F0000 F0001 HV000 HV00N", false],
    ["P0000 P0001 P0002 P0003 P0004", true],
    ["XX000 XX001 XX002", false],
  ];
  for (const [codes, isFinal] of CLASSES) {
    test(`${codes}: ${isFinal ? "the settlement is given up" : "the settlement is retried"}`, () => {
      const wrong = codes.split(" ").filter((code) => isDataFault(coded(code)) !== isFinal);
      assert.deepEqual(wrong, []);
    });
  }

  test("errors without a PostgreSQL code: the settlement is retried, unless the error's cause has the code of a data error", () => {
    for (const error of [
      new TypeError("x"),
      coded("ENOSPC"),
      coded("ECONNRESET"),
      new UnreachableError("database", "x"),
      "x",
    ])
      assert.equal(isDataFault(error), false, String(error));
    assert.equal(isDataFault(new Error("x", { cause: coded("23514") })), true);
  });
});

describe("real errors of PostgreSQL", () => {
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
    ["select from nowhere", false, true],
    ["select nonsense from from", false, false],
    ["do $$ begin raise 'no'; end $$", false, false],
    ["begin read only; create table t ()", true, true],
    ["set statement_timeout = 1; select pg_sleep(9)", false, true],
    ["select pg_terminate_backend(pg_backend_pid())", true, true],
  ] as const) {
    test(sql, async () => {
      const error = await failure(sql);
      assert.deepEqual([isConnectionLoss(error), isRetryableDatabaseError(error)], [loss, trouble], String(error));
    });
  }
});
