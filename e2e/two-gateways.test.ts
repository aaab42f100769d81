/**
 * Two gateways on one database and one Redis are one platform: its limits hold to the last request wherever it arrives, a
 * revoked key is revoked everywhere, and without Redis nothing is let through.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type KeyTraits, type MadeKey, makeKey, openBuilder } from "@tollgate/stage/accounts.ts";
import { writeCatalogue } from "@tollgate/stage/catalogue.ts";
import { PEPPER, urlOf } from "@tollgate/stage/database.ts";
import { newDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev.ts";
import { inOne } from "@tollgate/stage/periods.ts";
import { events, send } from "@tollgate/stage/raw-http.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { systemClock } from "../gateway/src/base/clock.ts";
import { newIds, type Uuid } from "../gateway/src/base/ids.ts";
import { createLog } from "../gateway/src/base/log.ts";
import { systemRandom } from "../gateway/src/base/random.ts";
import { announce } from "../gateway/src/db/broadcast.ts";
import { openTestDatabase, type TestDatabase } from "../gateway/src/db/testing.ts";
import { type ApiKeys, openApiKeys } from "../gateway/src/keys/api-keys.ts";
import { findServer, startServer, type TestServer } from "../gateway/src/limits/testing.ts";
import { assertGoldenAnswer } from "./golden/golden.ts";

const binary = findServer();
const skip = binary === undefined && "neither valkey-server nor redis-server is installed";
/** The catalogue lets in two of these on the whole platform. */
const CAPPED = "small-8b";
const ENDLESS = { tokens: 100_000, delta_ms: 100 };
const HOUR_MS = 60 * 60 * 1000;

/** The keys as one more gateway on the same database has them, to revoke one as a gateway does. */
function oneMoreGatewaysKeys(pool: TestDatabase["pool"]): ApiKeys {
  const random = systemRandom();
  return openApiKeys({
    pool,
    pepper: PEPPER,
    clock: systemClock,
    random,
    newId: newIds(systemClock, random),
    log: createLog("silent"),
    broadcast: { send: (topic, text) => announce(pool, topic, text), on: () => {}, close: async () => {} },
  });
}

describe("two gateways", { skip }, () => {
  const dataDirs: string[] = [];
  const gateways: Platform[] = [];
  let db: TestDatabase;
  let redis: TestServer;
  let account: string;

  before(async () => {
    db = await openTestDatabase();
    redis = await startServer(binary as string);
    for (let i = 0; i < 2; i++) {
      const dataDir = await newDataDir();
      dataDirs.push(dataDir);
      const flags = ["--engine", "scripted", "--models", `tiny-3b,${CAPPED}`];
      const gateway = await startPlatform(dataDir, flags, {
        DATABASE_URL: urlOf(db.connection),
        VALKEY_URL: redis.url,
        KEY_PEPPER: PEPPER,
        STATUS_SAMPLE_S: "1",
        CATALOGUE_FILE: await writeCatalogue(dataDir, { [CAPPED]: { admission_max: 2 } }),
      });
      gateways.push(gateway);
    }
    account = await openBuilder(query, 5_000_000_000_000n);
  });
  after(async () => {
    for (const gateway of gateways) assert.equal(await gateway.stop(), 0);
    await redis?.kill();
    await db?.close();
    for (const dataDir of dataDirs) await removeDataDir(dataDir);
  });

  const query: Platform["query"] = async (sql, values = []) => (await db.pool.query(sql, values)).rows;
  const newKey = (traits: KeyTraits = {}): Promise<MadeKey> => makeKey(query, account, traits);
  /** The n-th request goes to one gateway, the next to the other. */
  const at = (n: number): string => (gateways[n % 2] as Platform).ready.base_url;
  const models = (n: number, key: string): Promise<Response> =>
    fetch(`${at(n)}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  const chat = (n: number, key: string, orders: object, more: object = {}, signal: AbortSignal | null = null) =>
    fetch(`${at(n)}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({
        model: "tiny-3b",
        messages: [{ role: "user", content: `#script ${JSON.stringify(orders)}` }],
        max_tokens: 500,
        ...more,
      }),
      signal,
    });
  const code = async (response: Response): Promise<string> =>
    ((await response.json()) as { error: { code: string } }).error.code;
  /** Starts so many endless streams at once, on both; how they were answered, and what ends them. */
  const flood = async (key: string, count: number, model = "tiny-3b") => {
    const gone = new AbortController();
    const answers = await Promise.all(
      Array.from({ length: count }, (_, n) =>
        chat(n, key, ENDLESS, { stream: true, model, max_tokens: 5_000 }, gone.signal),
      ),
    );
    const refused = answers.filter(({ status }) => status !== 200);
    const reading = answers.filter(({ status }) => status === 200).map((answer) => answer.text().catch(() => "gone"));
    const end = async (): Promise<void> => {
      gone.abort();
      await Promise.all(reading);
      await noHolds();
    };
    return { admitted: reading.length, refused: await Promise.all(refused.map(code)), end };
  };
  const noHolds = (): Promise<boolean> =>
    eventually("no hold is left", async () => (await query("select id from hold")).length === 0);

  test("of 61 requests in a minute, split over both, exactly the 60 pass that the key may send", async () => {
    const statuses = await inOne("minute", async () => {
      const { token } = await newKey({ requests: 60 });
      const lanes = Array.from({ length: 6 }, async (_, lane) => {
        const seen: number[] = [];
        for (let n = lane; n < 61; n += 6) {
          const response = await models(n, token);
          await response.arrayBuffer();
          seen.push(response.status);
        }
        return seen;
      });
      return (await Promise.all(lanes)).flat();
    });
    const count = (status: number): number => statuses.filter((one) => one === status).length;
    assert.deepEqual([count(200), count(429)], [60, 1]);
  });

  test("of 65 at once, split over both, exactly 64 pass", async () => {
    const { admitted, refused, end } = await flood((await newKey()).token, 65);
    assert.deepEqual([admitted, refused], [64, ["rate_limit_streams"]]);
    await end();
  });

  test("a model's ceiling is the platform's, not each gateway's", async () => {
    const { admitted, refused, end } = await flood((await newKey()).token, 4, CAPPED);
    assert.deepEqual([admitted, refused], [2, ["rate_limit_sku_capacity", "rate_limit_sku_capacity"]]);
    await end();
  });

  test("a client that waits for each answer is never refused for what it has in flight", async () => {
    const { token } = await newKey({ inFlight: 1 });
    for (let n = 0; n < 60; n++) {
      const response = await chat(n, token, { text: "x" }, { stream: n % 3 === 0 });
      assert.equal(response.status, 200, `request ${n + 1}`);
      await response.text();
    }
  });

  test("a token budget crossed on one refuses on the other", async () => {
    const { first, refused } = await inOne("minute", async () => {
      const { token } = await newKey({ tokens: 10 });
      const first = await chat(0, token, { text: "more than ten tokens with its prompt" });
      return { first, refused: await chat(1, token, { text: "x" }) };
    });
    assert.deepEqual([first.status, refused.status], [200, 429]);
    const wait = Number(refused.headers.get("retry-after"));
    assert.ok(wait >= 1 && wait <= 60, `${wait} s`);
    assert.equal(await code(refused), "rate_limit_tokens");
  });

  test("a key's budget holds over both, and each names it", async () => {
    const orders = { tokens: 40, overrun: true, delta_ms: 1 };
    assert.equal((await chat(0, (await newKey()).token, orders, { max_tokens: 20 })).status, 200);
    const [last] = await query<{ hold_pico: bigint }>("select hold_pico from request order by id desc limit 1");
    const price = BigInt(last?.hold_pico ?? 0);
    const { id, answers } = await inOne("day", async () => {
      const { id, token } = await newKey({ budgetMonth: price * 9n + 1n });
      const answers = await Promise.all(
        Array.from({ length: 40 }, async (_, n) => {
          const response = await chat(n, token, orders, { max_tokens: 20 });
          return { status: response.status, text: await response.text() };
        }),
      );
      return { id, answers };
    });
    const refused = answers.filter(({ status }) => status !== 200);
    assert.deepEqual([answers.length - refused.length, refused.length], [9, 31]);
    for (const { status, text } of refused) {
      assert.equal(status, 402);
      assert.match(text, /The monthly budget of the API key \\"made\\" does not cover this request/);
    }
    await noHolds();
    const [standing] = await query("select month_spent::text, month_held::text from key_budget where key_id = $1", [
      id,
    ]);
    assert.deepEqual(standing, { month_spent: String(price * 9n), month_held: "0" });
  });

  test("a key that expires stops on both; with a new secret the old one works as long as was said, and no longer", async () => {
    const brief = await newKey();
    const rotated = await newKey();
    for (const { token } of [brief, rotated]) {
      for (const n of [0, 1]) assert.equal((await models(n, token)).status, 200);
    }
    const gateway = oneMoreGatewaysKeys(db.pool);
    const soon = new Date(Date.now() + 2_000);
    assert.equal(await gateway.change(account as Uuid, brief.id as Uuid, { expiresAt: soon }), true);
    const renewed = await gateway.rotate(account as Uuid, rotated.id as Uuid, HOUR_MS);
    for (const n of [0, 1]) {
      assert.equal((await models(n, renewed as string)).status, 200);
      assert.equal((await models(n, rotated.token)).status, 200, "the old one is kept");
      await eventually("it has expired", async () => (await models(n, brief.token)).status === 401);
    }
    assert.ok(Date.now() >= soon.getTime(), "not before its time");
    const last = await gateway.rotate(account as Uuid, rotated.id as Uuid, 0);
    await gateway.close();
    for (const n of [0, 1]) {
      for (const gone of [rotated.token, renewed as string]) {
        await eventually("it is refused", async () => (await models(n, gone)).status === 401);
      }
      assert.equal((await models(n, last as string)).status, 200);
    }
  });

  test("a key revoked on one stops on the other", async () => {
    const { id, token } = await newKey();
    for (const n of [0, 1]) assert.equal((await models(n, token)).status, 200);
    const gateway = oneMoreGatewaysKeys(db.pool);
    assert.equal(await gateway.revoke(null, id as Uuid), true);
    await gateway.close();
    for (const n of [0, 1]) {
      await eventually("it is refused", async () => (await models(n, token)).status === 401);
    }
  });

  test("availability is sampled by both and counted once, second by second", async () => {
    const counted = () =>
      query<{ model: string; samples: number; up: number; slots: number; minutes: number }>(
        `select model, sum(samples)::int as samples, sum(up)::int as up,
                (select count(*) from model_minute m where m.model = h.model)::int as minutes,
                (select extract(epoch from max(m.slot) - min(m.slot)) from model_minute m where m.model = h.model)::int + 1 as slots
           from model_hour h group by model order by model`,
      );
    const rows = await eventually("ten seconds are sampled", async () => {
      const now = await counted();
      return now.some(({ minutes }) => minutes >= 10) && now;
    });
    for (const { model, samples, slots, minutes } of rows) {
      assert.equal(samples, slots, `${model}: every second is counted once, also those that nobody sampled`);
      assert.ok(minutes <= slots, model);
    }
    const served = rows.find(({ model }) => model === "tiny-3b");
    assert.ok((served?.up ?? 0) > 0);
  });

  test("Redis killed: 503 and nothing let through, what runs ends well; started again: it goes on by itself", async () => {
    const { token } = await newKey();
    /** What each log says of outages. */
    const told = async (): Promise<string[][]> => {
      const logs = dataDirs.map((dataDir) => readFile(join(dataDir, "gateway.log"), "utf8"));
      return (await Promise.all(logs)).map((log) => log.match(/does not answer|answers again/g) ?? []);
    };
    const records = async (): Promise<number> => (await query("select id from request")).length;
    const before = await records();
    const running = await chat(0, token, { tokens: 40, delta_ms: 100 }, { stream: true });
    await redis.kill();
    for (const n of [0, 1]) {
      const headers = { authorization: `Bearer ${token}` };
      const body = JSON.stringify({ model: "tiny-3b", messages: [{ role: "user", content: "hi" }] });
      const whole = await send(at(n), { path: "/v1/chat/completions", headers, body });
      await assertGoldenAnswer("errors/503-limits-away", whole);
      assert.equal((await chat(n, token, { text: "x" }, { stream: true })).status, 503);
      assert.equal((await models(n, token)).status, 503);
    }
    assert.equal(events(await running.text()).at(-1), "[DONE]");
    await noHolds();
    assert.equal(await records(), before + 1, "only what was running is in the history");

    await redis.start();
    for (const n of [0, 1]) {
      await eventually("it serves again", async () => (await chat(n, token, { text: "x" })).status === 200);
    }
    const lines = await eventually("the end of the outage is logged", async () => {
      const now = await told();
      return now.every((log) => log.at(-1) === "answers again") && now;
    });
    // A busy machine may have had others. Each is two lines, however many requests it refused.
    for (const log of lines) {
      const inTurn = log.map((_, i) => (i % 2 === 0 ? "does not answer" : "answers again"));
      assert.deepEqual(log, inTurn);
    }
  });
});
