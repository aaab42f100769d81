import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { ATTEMPT_RULES, groupAddressByNetwork, openAttemptLimits } from "./attempt-limits.ts";
import { SignInRefusal } from "./sign-in-refusals.ts";

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

const secret = "a secret of tests, 32 characters or more";
const open = () => openAttemptLimits({ pool: database.pool, secret });

async function waitOf(attempt: Promise<void>): Promise<number | undefined> {
  try {
    await attempt;
    return undefined;
  } catch (error) {
    assert.ok(error instanceof SignInRefusal && error.reason === "too_many_attempts", String(error));
    return error.waitS;
  }
}

/** Simulates that this many seconds pass, by moving the stored times back. */
const pass = (seconds: number) =>
  database.pool.query("update identity_attempt set ends_at = ends_at - make_interval(secs => $1)", [seconds]);

test("the sign-in limiter refuses attempts above the limit until the window ends, and then allows the full number again", async () => {
  const attempts = open();
  for (let i = 0; i < ATTEMPT_RULES.address.attempts; i++)
    assert.equal(await waitOf(attempts.take("address", "a")), undefined);
  const wait = (await waitOf(attempts.take("address", "a"))) ?? 0;
  assert.ok(wait > 0 && wait <= ATTEMPT_RULES.address.windowS, String(wait));
  const half = ATTEMPT_RULES.address.windowS / 2;
  await pass(half);
  const rest = (await waitOf(attempts.take("address", "a"))) ?? 0;
  assert.ok(rest > 0 && rest <= half, String(rest));
  await pass(half);
  for (let i = 0; i < ATTEMPT_RULES.address.attempts; i++)
    assert.equal(await waitOf(attempts.take("address", "a")), undefined);
  assert.notEqual(await waitOf(attempts.take("address", "a")), undefined);
});

test("the sign-in limiter adds up the attempts at several gateways, including concurrent attempts", async () => {
  const gateways = [open(), open(), open()];
  const tried = Array.from({ length: 3 * ATTEMPT_RULES.email.attempts }, (_, i) =>
    waitOf((gateways[i % 3] as ReturnType<typeof open>).take("email", "b@example.test")),
  );
  const refused = (await Promise.all(tried)).filter((wait) => wait !== undefined);
  assert.equal(refused.length, 2 * ATTEMPT_RULES.email.attempts);
});

test("the sign-in limiter counts each address and each kind of attempt separately, and resets a count after a success", async () => {
  const attempts = open();
  assert.equal(await waitOf(attempts.take("usedCode", "c")), undefined);
  assert.equal(await waitOf(attempts.take("usedCode", "d")), undefined);
  assert.equal(await waitOf(attempts.take("identity", "c")), undefined);
  assert.notEqual(await waitOf(attempts.take("usedCode", "c")), undefined);
  await attempts.forget("usedCode", "c");
  assert.equal(await waitOf(attempts.take("usedCode", "c")), undefined);
  assert.notEqual(await waitOf(attempts.take("usedCode", "d")), undefined);
});

test("the sign-in limiter stores no email addresses, and deletes expired counts", async () => {
  const attempts = open();
  await attempts.take("email", "secret.person@example.test");
  const { rows } = await database.pool.query(
    "select a::text as row, encode(subject, 'escape') as subject from identity_attempt a",
  );
  for (const row of rows) assert.ok(!JSON.stringify(row).includes("secret.person"));
  await pass(ATTEMPT_RULES.email.windowS);
  await attempts.sweep();
  assert.deepEqual((await database.pool.query("select from identity_attempt")).rowCount, 0);
});

test("the sign-in limiter counts all addresses of an IPv6 /64 network as one address", () => {
  for (const [address, network] of [
    ["192.0.2.1", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::9", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:0002::9", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["not an address", "not an address"],
  ] as const) {
    assert.equal(groupAddressByNetwork(address), network, address);
  }
});
