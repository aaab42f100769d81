/**
 * Replays the ledger operations of simulated worlds with the real SQL on PostgreSQL. `npm run sim:replay` does the same
 * for 200 worlds.
 */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { openTestDatabase } from "../../gateway/src/db/testing.ts";
import { generateRandomPlan } from "../generate-random-plan.ts";
import { loadTokenCounting, type TokenCounting } from "../token-counting.ts";
import { type Recording, recordWorldLedger } from "./record-world-ledger.ts";
import { replayRecording } from "./replay.ts";

const WORLDS = 20;
const MINUTES = 0.5;

let tokens: TokenCounting;
before(async () => {
  tokens = await loadTokenCounting();
});

/** Replays a recording on a new database. `planted`: a statement that changes the database before the replay. */
async function replayed(recording: Recording, planted = "select"): Promise<string[]> {
  const db = await openTestDatabase();
  const client = await db.pool.connect();
  try {
    await client.query(planted);
    return await replayRecording(client, recording);
  } finally {
    client.release(true);
    await db.close();
  }
}

describe("a recorded simulation replayed on PostgreSQL", () => {
  for (let seed = 1; seed <= WORLDS; seed++) {
    test(`returns the same answers and the same ledger for seed ${seed}`, async () => {
      assert.deepEqual(
        await replayed(await recordWorldLedger(generateRandomPlan(seed, { minutes: MINUTES }), tokens)),
        [],
      );
    });
  }
});

describe("a replay detects a difference", () => {
  /** The seed of a world in which leases expire and settlements come late. */
  const SEED = 16;
  const WITHOUT_PAYOUTS = 6;
  let recording: Recording;
  before(async () => {
    recording = await recordWorldLedger(generateRandomPlan(SEED, { minutes: MINUTES }), tokens);
  });

  test("in the result of an SQL statement", async () => {
    const done = recording.done.map((one) => ({
      ...one,
      statements: one.statements.map((statement) =>
        /ledger_settle_one\(/.test(statement.text) ? { ...statement, answer: [{ code: 2 }] } : statement,
      ),
    }));
    assert.match((await replayed({ ...recording, done }))[0] as string, /ledger_settle_one[\s\S]*"code":"1"/);
  });

  test("in an account balance that no recorded response contains", async () => {
    const [differs] = await replayed(
      await recordWorldLedger(generateRandomPlan(WITHOUT_PAYOUTS, { minutes: MINUTES }), tokens),
      "create or replace function host_share(charge bigint) returns bigint language sql as $$ select charge $$",
    );
    assert.match(differs as string, /^accounts of PostgreSQL alone/);
  });

  test("in the expiry of a lease", async () => {
    const isSweep = ({ statements }: Recording["done"][number]): boolean =>
      statements.some(({ text }) => text.includes("ledger_sweep("));
    const done = recording.done.map((one) => (isSweep(one) ? { ...one, atMs: 0 } : one));
    assert.match((await replayed({ ...recording, done }))[0] as string, /ledger_sweep/);
  });
});
