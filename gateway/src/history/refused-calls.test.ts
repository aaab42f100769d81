/** Tests what a flood of refused calls costs, what is stored, and what is lost while the database is unreachable. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock } from "../base/testing.ts";
import { HOUR_MS } from "../base/time.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { openRefusedCallCounts, type RefusedCall, type RefusedCalls } from "./refused-calls.ts";

const [ACCOUNT, OTHER, KEY, SECOND, THIRD] = [1, 2, 3, 4, 5].map((n) => `01a1e000-0000-7000-8000-00000000000${n}`) as [
  Uuid,
  Uuid,
  Uuid,
  Uuid,
  Uuid,
];
const NO_MODEL: RefusedCall = { code: "model_not_found", status: 404, model: "no-model", message: "There is none." };
const BAD_KEY: RefusedCall = { code: "invalid_api_key", status: 401, model: null, message: "The key is wrong." };
const log = createLog("silent");

let db: TestDatabase;
let clock: ManualClock;
let refused: RefusedCalls;
before(async () => {
  db = await openTestDatabase();
  for (const id of [ACCOUNT, OTHER]) {
    await db.pool.query("insert into account (id, kind, name) values ($1, 'builder', 'an account')", [id]);
  }
  for (const [id, account, reference] of [
    [KEY, ACCOUNT, "aaaaaaaaaaaa"],
    [SECOND, ACCOUNT, "bbbbbbbbbbbb"],
    [THIRD, OTHER, "cccccccccccc"],
  ]) {
    await db.pool.query(
      "insert into api_key (id, account_id, name, reference, secret_hash) values ($1, $2, $3, $3, decode(repeat('00', 32), 'hex'))",
      [id, account, reference],
    );
  }
});
beforeEach(async () => {
  await db.pool.query("truncate refused_hour, refused_last");
  clock = manualClock(Date.UTC(2030, 0, 10, 12));
  refused = openRefusedCallCounts({ pool: db.pool, clock, log });
});
after(() => db.close());

const all = () => ({ from: new Date(clock.now() - 8 * 24 * HOUR_MS), to: new Date(clock.now() + HOUR_MS) });
const sums = async (calls = refused, account = ACCOUNT) =>
  (await calls.sums(account, all())).map(({ keyId, code, requests }) => [keyId, code, requests]);
const rows = async (table: string): Promise<number> =>
  Number((await db.pool.query(`select count(*)::int as n from ${table}`)).rows[0].n);

test("refused calls of a flood are counted in one row per key, code and hour, and the last 20 calls are stored", async () => {
  const by = { id: KEY, accountId: ACCOUNT };
  for (let i = 0; i < 1_000; i++) {
    clock.advance(1);
    refused.note(by, { ...NO_MODEL, model: `model-${i}` });
    if (i === 500) await refused.flush();
  }
  await refused.flush();
  assert.deepEqual(await sums(), [[KEY, "model_not_found", 1_000]]);
  assert.deepEqual([await rows("refused_hour"), await rows("refused_last")], [1, 1]);
  const [last] = await refused.examples(ACCOUNT);
  assert.deepEqual(
    last?.examples.map(({ model }) => model),
    Array.from({ length: 20 }, (_, i) => `model-${999 - i}`),
  );
});

test("refused calls are counted separately by account, key, code and hour", async () => {
  refused.note({ id: KEY, accountId: ACCOUNT }, NO_MODEL);
  refused.note({ id: SECOND, accountId: ACCOUNT }, NO_MODEL);
  refused.note({ id: SECOND, accountId: ACCOUNT }, { ...NO_MODEL, code: "insufficient_credits", status: 402 });
  refused.note({ id: THIRD, accountId: OTHER }, NO_MODEL);
  clock.advance(HOUR_MS);
  refused.note({ id: KEY, accountId: ACCOUNT }, NO_MODEL);
  await refused.flush();
  assert.equal(await rows("refused_hour"), 5);
  assert.deepEqual(await sums(), [
    [KEY, "model_not_found", 2],
    [SECOND, "insufficient_credits", 1],
    [SECOND, "model_not_found", 1],
  ]);
  assert.deepEqual(await sums(refused, OTHER), [[THIRD, "model_not_found", 1]]);
});

test("refused calls with an invalid API key count for the stored key with the same public part, if there is one", async () => {
  await db.pool.query("update api_key set revoked_at = now() where id = $1", [SECOND]);
  refused.note({ reference: "aaaaaaaaaaaa" }, BAD_KEY);
  refused.note({ reference: "bbbbbbbbbbbb" }, BAD_KEY);
  refused.note({ reference: "zzzzzzzzzzzz" }, BAD_KEY);
  await refused.flush();
  await db.pool.query("update api_key set revoked_at = null where id = $1", [SECOND]);
  assert.deepEqual(await sums(), [
    [KEY, "invalid_api_key", 1],
    [SECOND, "invalid_api_key", 1],
  ]);
  const [last] = await refused.examples(ACCOUNT);
  assert.deepEqual(last?.examples.map(({ key, message }) => [key, message]).sort(), [
    [KEY, "The secret of the API key is wrong."],
    [SECOND, "The API key was revoked."],
  ]);
});

test("refused calls are stored with the model's name only if it is a valid name", async () => {
  refused.note({ id: KEY, accountId: ACCOUNT }, { ...NO_MODEL, model: "Write me a letter, please." });
  await refused.flush();
  const [last] = await refused.examples(ACCOUNT);
  assert.equal(last?.examples[0]?.model, null);
});

test("refused calls and their counts are deleted after 7 days", async () => {
  refused.note({ id: KEY, accountId: ACCOUNT }, NO_MODEL);
  refused.note({ id: KEY, accountId: ACCOUNT }, BAD_KEY);
  await refused.flush();
  clock.advance(5 * 24 * HOUR_MS);
  refused.note({ id: KEY, accountId: ACCOUNT }, NO_MODEL);
  await refused.flush();
  clock.advance(3 * 24 * HOUR_MS);
  await refused.prune();
  assert.deepEqual(await sums(), [[KEY, "model_not_found", 1]]);
  assert.deepEqual(
    (await refused.examples(ACCOUNT)).map(({ code, examples }) => [code, examples.length]),
    [["model_not_found", 1]],
  );
});

test("refused calls of a database outage are written when the database is back", async () => {
  let isAway = true;
  const pool = {
    query: (text: string, values: unknown[]) =>
      isAway ? Promise.reject(new Error("away")) : db.pool.query(text, values),
  } as unknown as pg.Pool;
  const calls = openRefusedCallCounts({ pool, clock, log });
  calls.note({ id: KEY, accountId: ACCOUNT }, NO_MODEL);
  await assert.rejects(calls.flush(), /away/);
  calls.note({ id: KEY, accountId: ACCOUNT }, NO_MODEL);
  isAway = false;
  await calls.flush();
  assert.deepEqual(await sums(), [[KEY, "model_not_found", 2]]);
});

test("refused calls are kept during a database outage up to a limit, and the number of dropped calls is logged", async () => {
  const lines: Record<string, unknown>[] = [];
  const telling = createLog("warn", { write: (text: string) => void lines.push(JSON.parse(text)) });
  let isThere = false;
  const calls = openRefusedCallCounts({ pool: db.pool, clock, log: telling, isThere: () => isThere });
  const reference = (i: number): string => String(i).padStart(12, "0");
  for (let i = 0; i < 20_100; i++) calls.note({ reference: reference(i) }, BAD_KEY);
  isThere = true;
  await calls.flush();
  assert.deepEqual(
    lines.map(({ msg, calls }) => [msg, calls]),
    [["too many refused API calls to count each one; the counts of refused calls are too low", 100]],
  );
});
