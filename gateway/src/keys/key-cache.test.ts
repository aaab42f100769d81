/** The cache of verified secrets: valid or invalid, for at most a minute, and never outdated by a change. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { manualClock } from "../base/testing.ts";
import { ACCOUNT_TOPIC, type Broadcast } from "../db/broadcast.ts";
import { openTestDatabase } from "../db/testing.ts";
import { createApiKeyService } from "./api-keys.ts";

/** A broadcast without other gateways. */
const silence: Broadcast = { send: async () => {}, on: () => {}, close: async () => {} };

async function openKeys(t: TestContext) {
  const { pool, close } = await openTestDatabase();
  t.after(close);
  const clock = manualClock();
  const newId = newIds(systemClock, systemRandom());
  const pepper = "a pepper of tests, 32 characters or more";
  const log = createLog("silent");
  const heard = new Map<string, (text: string | undefined) => void>();
  const broadcast: Broadcast = { ...silence, on: (topic, run) => void heard.set(topic, run) };
  const keys = createApiKeyService({ pool, pepper, clock, random: systemRandom(), newId, log, broadcast });
  const account = newId();
  await pool.query("insert into account (id, kind, name) values ($1, 'builder', 'b')", [account]);
  return { pool, clock, keys, account, heard };
}

test("the key cache remembers for one minute that a token was rejected", async (t) => {
  const { pool, clock, keys, account } = await openKeys(t);

  const { id, token } = await keys.issue(account, "early");
  const header = `Bearer ${token}`;
  await pool.query("update api_key set revoked_at = now() where id = $1", [id]);
  assert.equal(await keys.authenticate(header), undefined);
  await pool.query("update api_key set revoked_at = null where id = $1", [id]);
  clock.advance(59_999);
  assert.equal(await keys.authenticate(header), undefined, "nobody looked again");
  clock.advance(1);
  assert.equal((await keys.authenticate(header))?.id, id);
});

for (const change of ["revocation", "suspension"] as const) {
  test(`the key cache does not store a key if its ${change} arrives while the key is being looked up`, async (t) => {
    const { pool, keys, account, heard } = await openKeys(t);
    const { id, token } = await keys.issue(account, "a key");
    const header = `Bearer ${token}`;
    // Simulates a row that is read just before the change and arrives just after the message about the change.
    const read = Promise.withResolvers<void>();
    const told = Promise.withResolvers<void>();
    const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
    const mocked = t.mock.method(pool, "query", async (...args: unknown[]) => {
      const rows = await query(...args);
      read.resolve();
      await told.promise;
      return rows;
    });
    const first = keys.authenticate(header);
    await read.promise;
    mocked.mock.restore();
    if (change === "revocation") assert.ok(await keys.revoke(account, id));
    else {
      await pool.query("update account set suspended_at = now() where id = $1", [account]);
      heard.get(ACCOUNT_TOPIC)?.(account);
    }
    told.resolve();
    assert.equal((await first)?.id, id, "it was good when it was read");
    assert.equal(await keys.authenticate(header), undefined);
  });
}
