/**
 * Migrations since the last release must not break that release's gateways during an upgrade: its migrations are
 * unchanged, its functions can still be called, and nothing is removed except by migrations that run after the rollout
 * (`-- phase: after`).
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createLog } from "../base/log.ts";
import { migrate } from "./migrate.ts";
import { NEWEST_KNOWN_MIGRATION, padVersion, readMigrations } from "./migrations.ts";
import { OLDEST_SCHEMA } from "./schema-status.ts";
import { splitStatements } from "./split-sql-statements.ts";
import {
  type FunctionSignature,
  findIncompatibility,
  listFunctionSignatures,
  makeEmptyFunctionSql,
  readLastRelease,
} from "./testing/release-sql.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "./testing/sql-directory.ts";
import { openTestDatabase } from "./testing.ts";

const log = createLog("silent");
const release = readLastRelease();
const migrations = await readMigrations(SQL_SOURCE_DIRECTORY);
const added = migrations.filter(({ version }) => version > release.schema);

describe("migrations since the last release", () => {
  test("leave the last release's migrations unchanged", () => {
    const now = Object.fromEntries(migrations.slice(0, release.schema).map(({ name, sha256 }) => [name, sha256]));
    assert.deepEqual(now, release.migrations);
  });

  test("declare that the program works with the last release's schema", () => {
    assert.equal(
      OLDEST_SCHEMA,
      release.schema,
      "OLDEST_SCHEMA in schema-status.ts is the last migration of the last release",
    );
    assert.equal(NEWEST_KNOWN_MIGRATION, migrations.length);
  });

  test('place migrations marked "phase: after" last', () => {
    const first = added.findIndex(({ phase }) => phase === "after");
    const late = first < 0 ? [] : added.slice(first).filter(({ phase }) => phase === "before");
    assert.deepEqual(
      late.map(({ name }) => name),
      [],
      "renumber: the phase after comes last",
    );
  });

  test("remove nothing and require nothing new in the before phase", () => {
    for (const { name, sql } of added.filter(({ phase }) => phase === "before")) assertOnlyAdds(name, sql);
  });

  test("leave every function callable by the last release's gateways until the after phase", async (t) => {
    const { pool, close } = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, padVersion(release.schema)) });
    t.after(close);
    // Drops the functions that migrations up to 0017 created, because some differ from those of the release.
    for (const { name } of await listFunctionSignatures(pool))
      await pool.query(`drop function if exists ${name} cascade`);
    for (const form of release.functions) await pool.query(makeEmptyFunctionSql(form));
    assert.deepEqual(await listFunctionSignatures(pool), release.functions, "the database is as the release had it");
    await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log, after: "leave" });
    assert.deepEqual(broken(release.functions, await listFunctionSignatures(pool)), []);
  });
});

const broken = (before: FunctionSignature[], now: FunctionSignature[]): string[] =>
  before.flatMap((old) => {
    const why = findIncompatibility(
      old,
      now.find(({ name }) => name === old.name),
    );
    return why === undefined ? [] : [`${old.name}() ${why}`];
  });

/** Statements that would break gateways of the previous version. */
const TAKES_AWAY: [RegExp, string][] = [
  [/^drop (table|view|function|trigger|type|schema|sequence)\b/i, "drops what an older gateway may use"],
  [
    /^alter table .*\bdrop (column\b|(?!constraint\b|not null\b|default\b|expression\b|identity\b)\w+)/i,
    "drops a column",
  ],
  [/^alter (table|function|view|type|sequence) .*\brename\b/i, "renames what an older gateway may use"],
  [/^alter table .*\balter (column )?\w+ (set data )?type\b/i, "gives a column another type"],
  [/^alter table .*\bset not null\b/i, "asks an older gateway for a value"],
  [
    /^alter table .*\badd (column )?(if not exists )?(?!constraint\b)\w+ (?=.*\bnot null\b)(?!.*\b(default|generated)\b)/i,
    "adds a column that an older gateway has no value for",
  ],
];

function assertOnlyAdds(name: string, sql: string): void {
  for (const { line, text } of splitStatements(sql)) {
    const found = TAKES_AWAY.find(([form]) => form.test(text));
    assert.equal(
      found,
      undefined,
      `${name}, line ${line} ${found?.[1]}: it belongs into a migration of the phase after`,
    );
  }
}

describe("the release checks", () => {
  test("refuse statements that break older gateways in a before-phase migration, and accept additions", () => {
    for (const sql of [
      "drop table a;",
      "-- It is old.\nalter table a\n  drop column b;",
      "alter table a drop b;",
      "alter table a rename b to c;",
      "alter table a alter column b type text;",
      "alter table a alter b set not null;",
      "alter table a add column b int not null;",
      "drop function if exists f(int);",
    ]) {
      assert.throws(() => assertOnlyAdds("x.sql", sql), /belongs into a migration of the phase after/, sql);
    }
    for (const sql of [
      "create table a (b int not null);",
      "alter table a add column b int not null default 0;",
      "alter table a add column b text check (length(b) > 0);",
      "alter table a drop constraint b;",
      "alter table a alter column b drop not null;",
      "alter table a add constraint c check (b is not null) not valid;",
      "drop index a_b;",
      "-- drop table a;\ninsert into a values ('drop table a;');",
    ]) {
      assert.doesNotThrow(() => assertOnlyAdds("x.sql", sql), sql);
    }
  });

  test("refuse a function that gateways of the last release could not call", () => {
    const old: FunctionSignature = {
      name: "f",
      parameters: ["in a uuid", "in b integer", "out c text"],
      optional: 1,
      result: "text",
    };
    const as = (change: Partial<FunctionSignature>): string | undefined =>
      findIncompatibility(old, { ...old, ...change });
    assert.equal(as({}), undefined);
    assert.equal(as({ parameters: [...old.parameters, "in d text"], optional: 2 }), undefined);
    assert.match(findIncompatibility(old, undefined) ?? "", /is gone/);
    assert.match(as({ result: "integer" }) ?? "", /gives integer and not text/);
    assert.match(as({ parameters: ["in a text", ...old.parameters.slice(1)] }) ?? "", /takes "in a text"/);
    assert.match(as({ parameters: ["in b integer", "in a uuid", "out c text"] }) ?? "", /takes "in b integer"/);
    assert.match(as({ parameters: old.parameters.slice(0, 1) }) ?? "", /takes "nothing" where it took "in b integer"/);
    assert.match(as({ parameters: [...old.parameters, "in d text"], optional: 0 }) ?? "", /needs "in d text"/);
    assert.match(as({ parameters: ["in a uuid", "in b integer", "out d text"] }) ?? "", /other columns/);
    assert.match(as({ optional: 0 }) ?? "", /could be left out/);
  });
});
