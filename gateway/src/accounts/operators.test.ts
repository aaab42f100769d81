import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds } from "../base/ids.ts";
import { systemRandom } from "../base/random.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { createIdentity } from "./create-identity.ts";
import { listOperators, removeOperator, resetSecondFactor } from "./operators.ts";

const newId = newIds(systemClock, systemRandom());
let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

/** Creates an identity with a session and a second factor. */
const enrol = async (email: string, operator = true): Promise<void> => {
  const { pool } = database;
  const id = await createIdentity(
    { pool, newId },
    { email, password: "correct horse battery", name: "A person", operator },
  );
  await pool.query("update identity set two_factor_enabled = true where id = $1", [id]);
  await pool.query(
    "insert into identity_two_factor (id, identity_id, secret, backup_codes) values ($1, $2, 'x', 'y')",
    [newId(), id],
  );
  await pool.query(
    "insert into identity_session (id, identity_id, token, expires_at) values ($1, $2, $3, now() + interval '1 day')",
    [newId(), id, newId()],
  );
};
const sessions = async (email: string): Promise<number> => {
  const text = "select 1 from identity_session s join identity i on i.id = s.identity_id where i.email = $1";
  return (await database.pool.query(text, [email])).rows.length;
};
beforeEach(async () => {
  await database.pool.query("truncate identity cascade");
  await enrol("ada@example.test");
  await enrol("bo@example.test");
  await enrol("cy@example.test", false);
});

test("the list of operators shows whether each has a second factor, and when each was last active", async () => {
  await database.pool.query(
    "delete from identity_session where identity_id in (select id from identity where email like 'bo%')",
  );
  const listed = await listOperators(database.pool);
  assert.deepEqual(
    listed.map(({ email, hasSecondFactor, lastSeenAt }) => [email, hasSecondFactor, lastSeenAt !== null]),
    [
      ["ada@example.test", true, true],
      ["bo@example.test", true, false],
    ],
  );
});

test("a removed operator is an ordinary user and is signed out everywhere", async () => {
  await removeOperator(database.pool, "Ada@example.test");
  assert.deepEqual(
    (await listOperators(database.pool)).map(({ email }) => email),
    ["bo@example.test"],
  );
  assert.deepEqual([await sessions("ada@example.test"), await sessions("bo@example.test")], [0, 1]);
});

test("the last operator cannot be removed, not even by two concurrent commands", async () => {
  const removed = await Promise.allSettled(
    ["ada@example.test", "bo@example.test"].map((email) => removeOperator(database.pool, email)),
  );
  assert.deepEqual(removed.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  const { reason } = removed.find(({ status }) => status === "rejected") as PromiseRejectedResult;
  assert.match(reason.message, /is the only operator/);
  assert.equal((await listOperators(database.pool)).length, 1);
});

test("resetting a lost second factor succeeds once, and then fails because no second factor is left", async () => {
  await resetSecondFactor(database.pool, "ada@example.test");
  assert.deepEqual(
    (await listOperators(database.pool)).map(({ hasSecondFactor }) => hasSecondFactor),
    [false, true],
  );
  assert.equal(await sessions("ada@example.test"), 0);
  assert.equal((await database.pool.query("select 1 from identity_two_factor")).rows.length, 2);
  await assert.rejects(resetSecondFactor(database.pool, "ada@example.test"), /ada@example.test has no second factor/);
});

test("the error for an unknown user, or for a user who is not an operator, contains the email address", async () => {
  for (const email of ["cy@example.test", "nobody@example.test"]) {
    await assert.rejects(
      removeOperator(database.pool, email),
      /is not an operator\. See: tollgate admin operator list/,
    );
    await assert.rejects(resetSecondFactor(database.pool, email), /is not an operator/);
  }
});
