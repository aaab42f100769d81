/**
 * Replacing the pepper (the secret for hashing keys) while keys are in use: a key is accepted under the old pepper
 * until it is used, then under the new one.
 */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import type { Broadcast } from "../db/broadcast.ts";
import { openTestDatabase } from "../db/testing.ts";
import { createApiKeyService } from "./api-keys.ts";
import { countPepperUsage, type Peppers } from "./peppers.ts";
import { openHostTokenService } from "./secret-store.ts";

const [FIRST, SECOND] = ["the first pepper, 32 characters or so", "the second pepper, 32 characters or so"];
const newId = newIds(systemClock, systemRandom());
const silence: Broadcast = { send: async () => {}, on: () => {}, close: async () => {} };

async function openPlace(t: TestContext) {
  const { pool, close } = await openTestDatabase();
  t.after(close);
  const account = newId();
  await pool.query("insert into account (id, kind, name) values ($1, 'builder', 'b')", [account]);
  const common = {
    pool,
    clock: systemClock,
    random: systemRandom(),
    newId,
    log: createLog("silent"),
    broadcast: silence,
  };
  /** Opens the keys of a gateway with these peppers. */
  const gateway = (peppers: Peppers, keepsPeppers = true) => {
    const options = { ...common, ...peppers, keepsPeppers: () => keepsPeppers };
    const [keys, tokens] = [createApiKeyService(options), openHostTokenService(options)];
    const close = async (): Promise<void> => void (await Promise.all([keys.close(), tokens.close()]));
    return { keys, tokens, close };
  };
  return { pool, account, gateway };
}

const bearer = (token: string): string => `Bearer ${token}`;

test("a key is rehashed with the new pepper when it is used; a key unused until the old pepper's removal is refused", async (t) => {
  const { pool, account, gateway } = await openPlace(t);
  const before = gateway({ pepper: FIRST });
  const shown = await before.keys.issue(account, "shown");
  const unseen = await before.keys.issue(account, "unseen");
  const host = await before.tokens.issue(account, "host");
  const during = gateway({ pepper: SECOND, old: FIRST });
  const made = await during.keys.issue(account, "made since");
  assert.deepEqual(await countPepperUsage(pool, "api_key", SECOND), { total: 3, unseen: 2, unseenInUse: 0 });
  assert.deepEqual(await countPepperUsage(pool, "host_token", SECOND), { total: 1, unseen: 1, unseenInUse: 0 });
  assert.equal((await during.keys.authenticate(bearer(shown.token)))?.id, shown.id);
  assert.equal((await during.tokens.authenticate(bearer(host.token)))?.id, host.id);
  await during.close();
  assert.deepEqual(await countPepperUsage(pool, "api_key", SECOND), { total: 3, unseen: 1, unseenInUse: 0 });
  assert.deepEqual(await countPepperUsage(pool, "host_token", SECOND), { total: 1, unseen: 0, unseenInUse: 0 });

  const after = gateway({ pepper: SECOND });
  for (const { id, token } of [shown, made]) assert.equal((await after.keys.authenticate(bearer(token)))?.id, id);
  assert.equal((await after.tokens.authenticate(bearer(host.token)))?.id, host.id);
  assert.equal(await after.keys.authenticate(bearer(unseen.token)), undefined);
  await after.close();
});

test("both secrets of a rotated key are rehashed, each when it is used", async (t) => {
  const { pool, account, gateway } = await openPlace(t);
  const before = gateway({ pepper: FIRST });
  const { id, token: previous } = await before.keys.issue(account, "rotated");
  const token = (await before.keys.rotate(account, id, 3_600_000)) ?? assert.fail("no new secret");
  const during = gateway({ pepper: SECOND, old: FIRST });
  assert.deepEqual(await countPepperUsage(pool, "api_key", SECOND), { total: 2, unseen: 2, unseenInUse: 0 });
  for (const shown of [previous, token]) assert.equal((await during.keys.authenticate(bearer(shown)))?.id, id);
  await during.close();
  assert.equal((await countPepperUsage(pool, "api_key", SECOND)).unseen, 0);
  const after = gateway({ pepper: SECOND });
  for (const shown of [previous, token]) assert.equal((await after.keys.authenticate(bearer(shown)))?.id, id);
  // Rotation moves the recorded pepper to the columns of the previous secret.
  const third = (await after.keys.rotate(account, id, 3_600_000)) ?? assert.fail("no new secret");
  assert.equal((await countPepperUsage(pool, "api_key", SECOND)).unseen, 0);
  assert.equal((await after.keys.authenticate(bearer(third)))?.id, id);
  await after.close();
});

test("every key authenticates while two gateways have the peppers in opposite order, and no old hash is restored", async (t) => {
  const { pool, account, gateway } = await openPlace(t);
  const behind = gateway({ pepper: FIRST, next: SECOND });
  const ahead = gateway({ pepper: SECOND, old: FIRST });
  const [one, two] = [await behind.keys.issue(account, "one"), await ahead.keys.issue(account, "two")];
  for (const { keys } of [ahead, behind]) {
    for (const { id, token } of [one, two]) assert.equal((await keys.authenticate(bearer(token)))?.id, id);
  }
  await ahead.close();
  await behind.close();
  assert.equal((await countPepperUsage(pool, "api_key", SECOND)).unseen, 0);
});

test("a key that six gateways rehash at once is accepted, and its new hash is stored", async (t) => {
  const { pool, account, gateway } = await openPlace(t);
  const { id, token } = await gateway({ pepper: FIRST }).keys.issue(account, "busy");
  const gateways = Array.from({ length: 6 }, () => gateway({ pepper: SECOND, old: FIRST }));
  const found = await Promise.all(gateways.map(({ keys }) => keys.authenticate(bearer(token))));
  assert.deepEqual(
    found.map((holder) => holder?.id),
    Array(6).fill(id),
  );
  for (const { close } of gateways) await close();
  assert.equal((await countPepperUsage(pool, "api_key", SECOND)).unseen, 0);
  assert.equal((await gateway({ pepper: SECOND }).keys.authenticate(bearer(token)))?.id, id);
});

test("a wrong secret is refused under every pepper, and nothing is written for it", async (t) => {
  const { pool, account, gateway } = await openPlace(t);
  const { token } = await gateway({ pepper: FIRST }).keys.issue(account, "k");
  const during = gateway({ pepper: SECOND, old: FIRST });
  const wrong = `${token.slice(0, -1)}${token.endsWith("a") ? "b" : "a"}`;
  assert.equal(await during.keys.authenticate(bearer(wrong)), undefined);
  await during.close();
  assert.equal((await countPepperUsage(pool, "api_key", SECOND)).unseen, 1);
});

test("keys are created, rotated and authenticated, but not rehashed, on a database without the pepper columns", async (t) => {
  const { pool, account, gateway } = await openPlace(t);
  await pool.query("alter table api_key drop column pepper, drop column previous_pepper");
  await pool.query("alter table host_token drop column pepper");
  const before = gateway({ pepper: FIRST }, false);
  const { id, token } = await before.keys.issue(account, "k");
  const host = await before.tokens.issue(account, "h");
  const during = gateway({ pepper: SECOND, old: FIRST }, false);
  assert.equal((await during.keys.authenticate(bearer(token)))?.id, id);
  assert.equal((await during.tokens.authenticate(bearer(host.token)))?.id, host.id);
  assert.ok(await during.keys.rotate(account, id, 1_000));
  await during.close();
  assert.equal((await gateway({ pepper: FIRST }, false).tokens.authenticate(bearer(host.token)))?.id, host.id);
});
