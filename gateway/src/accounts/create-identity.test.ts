import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds } from "../base/ids.ts";
import { systemRandom } from "../base/random.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { createIdentity, createOperator, IdentityError } from "./create-identity.ts";

const newId = newIds(systemClock, systemRandom());
const PASSWORD = "correct horse battery";

let database: TestDatabase;
let options: Parameters<typeof createIdentity>[0];
before(async () => {
  database = await openTestDatabase();
  options = { pool: database.pool, newId };
});
after(() => database.close());

const isOperator = async (email: string): Promise<boolean | undefined> =>
  (await database.pool.query("select operator from identity where email = $1", [email])).rows[0]?.operator;

test("email addresses that differ only in case belong to one identity", async () => {
  const identity = { email: "Once@example.test", password: PASSWORD, name: "A person", operator: false };
  await createIdentity(options, identity);
  await assert.rejects(createIdentity(options, { ...identity, email: "ONCE@example.test" }), IdentityError);
});

test("a password that is too short, too long or only white space creates no identity", async () => {
  for (const [password, rule] of [
    ["1234567", /8 to 128 characters/],
    ["x".repeat(129), /8 to 128 characters/],
    [" ".repeat(12), /not consist of white space only/],
    ["\t\n\u00a0".repeat(4), /not consist of white space only/],
  ] as const) {
    const identity = { email: "weak@example.test", password, name: "A person", operator: false };
    await assert.rejects(createIdentity(options, identity), (error: Error) => {
      assert.ok(error instanceof IdentityError, String(error));
      assert.match(error.message, rule);
      return true;
    });
  }
  assert.equal(await isOperator("weak@example.test"), undefined);
});

test("creating an operator who is not registered yet requires a password", async () => {
  const operator = { email: "New@example.test", name: "Operator" };
  await assert.rejects(
    createOperator(options, { ...operator, password: undefined }),
    /Create this user with a password/,
  );
  const { promoted } = await createOperator(options, { ...operator, password: PASSWORD });
  assert.equal(promoted, false);
  assert.equal(await isOperator("new@example.test"), true);
});

test("promoting an existing identity keeps its password", async () => {
  const identity = { email: "there@example.test", password: PASSWORD, name: "A person", operator: false };
  const id = await createIdentity(options, identity);
  const { rows: before } = await database.pool.query(
    "select password_hash from identity_credential where identity_id = $1",
    [id],
  );
  await assert.rejects(
    createOperator(options, { email: "there@example.test", name: "X", password: "another one" }),
    IdentityError,
  );
  assert.equal(await isOperator("there@example.test"), false);
  const made = await createOperator(options, { email: "There@example.test", name: "X", password: undefined });
  assert.deepEqual(made, { id, promoted: true });
  assert.equal(await isOperator("there@example.test"), true);
  const { rows: after } = await database.pool.query(
    "select password_hash from identity_credential where identity_id = $1",
    [id],
  );
  assert.deepEqual(after, before);
});

test("promoting a user with an unconfirmed address requires a new password and ends the user's sessions and tokens", async () => {
  const id = newId();
  const query = async (text: string): Promise<unknown[]> => (await database.pool.query(text, [id])).rows;
  await query(
    "insert into identity (id, email, name, two_factor_enabled) values ($1, 'first@example.test', 'First', true)",
  );
  await query(
    `insert into identity_credential (id, identity_id, provider, subject, password_hash)
     values (gen_random_uuid(), $1, 'credential', $1::uuid::text, 'old')`,
  );
  await query(
    `insert into identity_session (id, identity_id, token, expires_at) values (gen_random_uuid(), $1, 'theirs', now() + '1 day')`,
  );
  await query(
    "insert into identity_two_factor (id, identity_id, secret, backup_codes) values (gen_random_uuid(), $1, 's', 'c')",
  );
  await query(
    `insert into identity_verification (id, identifier, value, expires_at)
     values (gen_random_uuid(), 'reset-password:x', $1::uuid::text, now() + '1 day')`,
  );
  const operator = { email: "First@example.test", name: "X" };
  const state = `select operator, email_verified, two_factor_enabled, password_hash = 'old' as "isOld",
      (select count(*)::int from identity_session where identity_id = $1) as sessions,
      (select count(*)::int from identity_two_factor where identity_id = $1) as factors,
      (select count(*)::int from identity_verification where value = $1::uuid::text) as links
    from identity join identity_credential on identity_id = identity.id where identity.id = $1`;
  const before = await query(state);
  await assert.rejects(
    createOperator(options, { ...operator, password: undefined }),
    /set a new one with --password -/,
  );
  await assert.rejects(createOperator(options, { ...operator, password: "short" }), /The password must have/);
  assert.deepEqual(await query(state), before);
  assert.deepEqual(await createOperator(options, { ...operator, password: PASSWORD }), { id, promoted: true });
  assert.deepEqual(await query(state), [
    {
      operator: true,
      email_verified: true,
      two_factor_enabled: false,
      isOld: false,
      sessions: 0,
      factors: 0,
      links: 0,
    },
  ]);
});
