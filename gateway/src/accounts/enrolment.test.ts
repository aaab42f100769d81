import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds } from "../base/ids.ts";
import { systemRandom } from "../base/random.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { createIdentity, createOperator, IdentityError } from "./enrolment.ts";

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

test("an e-mail address has one identity, in any case", async () => {
  const identity = { email: "Once@example.test", password: PASSWORD, name: "A person", operator: false };
  await createIdentity(options, identity);
  await assert.rejects(createIdentity(options, { ...identity, email: "ONCE@example.test" }), IdentityError);
});

test("a password that is too short or too long makes no identity", async () => {
  for (const password of ["1234567", "x".repeat(129)]) {
    const identity = { email: "weak@example.test", password, name: "A person", operator: false };
    await assert.rejects(createIdentity(options, identity), IdentityError);
  }
  assert.equal(await isOperator("weak@example.test"), undefined);
});

test("a new operator needs a password, and has it", async () => {
  const operator = { email: "New@example.test", name: "Operator" };
  await assert.rejects(createOperator(options, { ...operator, password: undefined }), /give a password/);
  const { promoted } = await createOperator(options, { ...operator, password: PASSWORD });
  assert.equal(promoted, false);
  assert.equal(await isOperator("new@example.test"), true);
});

test("an identity that is there is promoted, and keeps its password", async () => {
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

test("an address that was not proven makes no operator: a stranger may have signed up with it", async () => {
  await database.pool.query("insert into identity (id, email, name) values ($1, 'unproven@example.test', 'Stranger')", [
    newId(),
  ]);
  const operator = { email: "unproven@example.test", name: "X", password: undefined };
  await assert.rejects(createOperator(options, operator), /has not confirmed its email address/);
  assert.equal(await isOperator("unproven@example.test"), false);
});
