/** What is remembered of secrets that were refused: that they are bad, for a minute at most. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { manualClock } from "../base/testing.ts";
import type { Broadcast } from "../db/broadcast.ts";
import { openTestDatabase } from "../db/testing.ts";
import { openApiKeys } from "./keys.ts";

/** One gateway alone: nobody to tell, nobody to hear. */
const silence: Broadcast = { send: async () => {}, on: () => {}, close: async () => {} };

test("a rejected token is remembered as bad for a minute, and no longer", async (t) => {
  const { pool, close } = await openTestDatabase();
  t.after(close);
  const clock = manualClock();
  const newId = newIds(systemClock, systemRandom());
  const pepper = "a pepper of tests, 32 characters or more";
  const log = createLog("silent");
  const keys = openApiKeys({ pool, pepper, clock, random: systemRandom(), newId, log, broadcast: silence });
  const account = newId();
  await pool.query("insert into account (id, kind, name) values ($1, 'builder', 'b')", [account]);

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
