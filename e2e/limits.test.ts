/**
 * Tests the limits of keys and models on two gateways that share a database, a NATS server and Valkey. Requests are
 * refused exactly at the limit on whichever gateway they arrive, with the time to retry. All clocks are the stage's,
 * which the test moves, even in Valkey. gateway/src/limits/limits.test.ts tests whole minutes.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type CreatedKey, type KeyTraits, makeKey } from "@tollgate/stage/builder-and-host-accounts.ts";
import { sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { skipWithoutNats } from "@tollgate/stage/dispatch-planes.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import { readText, sendRawRequest, splitEvents } from "@tollgate/stage/raw-http.ts";
import { type InProcessStage, openStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { waitPastMidnight } from "@tollgate/stage/within-one-minute-or-day.ts";
import { writeCatalogue } from "@tollgate/stage/write-catalogue.ts";
import type { Uuid } from "../gateway/src/base/ids.ts";
import { findValkeyServer, type TestValkeyServer } from "../gateway/src/limits/testing-limits.ts";
import { assertGoldenAnswer } from "./golden/golden-answers.ts";

const skip = findValkeyServer() === undefined && "neither valkey-server nor redis-server is installed";
/** Two gateways need NATS and Valkey. Without them, one gateway applies the limits by itself. */
const GATEWAYS = skip || skipWithoutNats ? 1 : 2;
/**
 * A model that the catalogue limits to two requests in flight on the whole platform, however many slots its nodes have.
 */
const CAPPED = "small-8b";
const ENDLESS = { tokens: 100_000, delta_ms: 100 };
const STEP_MS = 100;

/** A response with its text. */
interface Told {
  response: Response;
  text: string;
}

const header = (response: Response, name: string): string | null => response.headers.get(name);
const codeOf = (text: string): string => (JSON.parse(text) as { error: { code: string } }).error.code;
const told = async (response: Response): Promise<Told> => ({ response, text: await readText(response) });
const statuses = (answers: Told[]): number[] => answers.map(({ response }) => response.status);
const remaining = (answers: Told[], of: "requests" | "tokens"): (string | null)[] =>
  answers.map(({ response }) => header(response, `x-ratelimit-remaining-${of}`));
const times = <T>(count: number, value: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => value(i));

/** Waits for a condition while the stage's clock advances in steps. */
const asTimePasses = <T>({ clock }: InProcessStage, what: string, check: () => T | Promise<T>, stepMs = STEP_MS) =>
  eventually(what, () => {
    clock.advance(stepMs);
    return check();
  });
/** Waits for a promise while the stage's clock advances in steps. */
async function inTime<T>(stage: InProcessStage, what: string, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settled = promise.finally(() => {
    isSettled = true;
  });
  await asTimePasses(stage, what, () => isSettled);
  return await settled;
}
const readiness = async (internalUrl: string): Promise<{ status: number; limits: string | undefined }> => {
  const response = await fetch(`${internalUrl}/readyz`);
  const { dependencies } = (await response.json()) as { dependencies: Record<string, string> };
  return { status: response.status, limits: dependencies.limits };
};

describe(`limits of keys and models, on ${GATEWAYS} gateways`, () => {
  let stage: InProcessStage;
  let account: string;
  before(async () => {
    // Avoids midnight (UTC): budgets count per day, by the database's clock and by the stage's, which does not move by
    // itself.
    await waitPastMidnight();
    const env = async (folder: string) => ({
      CATALOGUE_FILE: await writeCatalogue(folder, { [CAPPED]: { admission_max: 2 } }),
      STATUS_SAMPLE_S: "1",
    });
    const nodes = [{ models: ["tiny-3b", CAPPED] }, { models: ["tiny-3b"] }];
    const shared = GATEWAYS === 2 ? ({ plane: "nats", limits: "valkey" } as const) : {};
    stage = await openStage({ as: "in-process", gateways: GATEWAYS, ...shared, nodes, env });
    ({ account } = await stage.builder());
  });
  after(() => stage?.close());

  const newKey = (traits: KeyTraits = {}): Promise<CreatedKey> => makeKey(stage.query, account, traits);
  const newToken = async (traits: KeyTraits = {}): Promise<string> => (await newKey(traits)).token;
  /** Returns gateway n, so that requests alternate between the gateways. */
  const at = (n: number) => stage.gateways[n % GATEWAYS] as InProcessStage["gateway"];
  const models = (key: string, n = 0): Promise<Response> =>
    fetch(`${at(n).baseUrl}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  const chat = (key: string, orders: object, more: object = {}, n = 0, signal: AbortSignal | null = null) =>
    sendUserMessage(
      at(n),
      key,
      { model: "tiny-3b", prompt: `#script ${JSON.stringify(orders)}`, max_tokens: 500, ...more },
      signal,
    );
  /** Sends requests one after the other, and reads each response to its end. */
  const inTurn = async (count: number, request: (n: number) => Promise<Response>): Promise<Told[]> => {
    const answers: Told[] = [];
    for (let n = 0; n < count; n++) answers.push(await told(await request(n)));
    return answers;
  };
  /**
   * Starts `count` endless streams at the same time, spread over all gateways. Returns their responses and a function
   * that ends them.
   */
  const flood = async (key: string, count: number, model = "tiny-3b") => {
    const gone = new AbortController();
    const order = { stream: true, model, max_tokens: 5_000 };
    const answers = await Promise.all(times(count, (n) => chat(key, ENDLESS, order, n, gone.signal)));
    const refused = await Promise.all(answers.filter(({ status }) => status !== 200).map(told));
    // Reads the streams, because a gateway treats a client that does not read as disconnected.
    const reading = answers.filter(({ status }) => status === 200).map((answer) => answer.text().catch(() => "gone"));
    const end = async (): Promise<void> => {
      gone.abort();
      await Promise.all(reading);
      await asTimePasses(stage, "no hold is left", async () => (await stage.query("select id from hold")).length === 0);
    };
    return { admitted: reading.length, refused, codes: refused.map(({ text }) => codeOf(text)), end };
  };
  const assertRetryIn = (response: Response, seconds: string): void =>
    assert.deepEqual([header(response, "retry-after"), header(response, "x-should-retry")], [seconds, "true"]);
  const leftOfMinuteMs = (): number => 60_000 - (stage.clock.now() % 60_000);
  /** Asserts that Retry-After is the rest of the current minute in whole seconds: every minute begins a new window. */
  const assertRetryNextMinute = (response: Response, window: "requests" | "tokens"): void => {
    const left = leftOfMinuteMs();
    const reset = left < 1000 ? `${left}ms` : left === 60_000 ? "1m0s" : `${left / 1000}s`;
    assert.equal(header(response, `x-ratelimit-reset-${window}`), reset);
    assertRetryIn(response, String(Math.ceil(left / 1000)));
  };
  /** Advances the clock in steps, so that nodes and gateways can exchange reports in between. */
  const pass = async (ms: number): Promise<void> => {
    const until = stage.clock.now() + ms;
    await asTimePasses(stage, "time passes", () => stage.clock.now() >= until, 1000);
  };

  test("64 requests of a key run at the same time; until one of them ends, another gets a 429 with a retry after 1 s", async () => {
    const key = await newToken();
    const { admitted, refused, codes, end } = await flood(key, 65);
    assert.deepEqual([admitted, codes], [64, ["rate_limit_streams"]]);
    const { response } = refused[0] as Told;
    assertRetryIn(response, "1");
    const record = await stage.record(response);
    assert.deepEqual([record?.outcome, record?.http_status, record?.charge_pico], ["rate_limit_streams", 429, "0"]);
    await end();
    assert.equal((await chat(key, { text: "x" })).status, 200);
    await assertBalanced(stage);
  });

  test("every response contains the key's remaining limits; a request above a limit gets a 429 until the next minute", async () => {
    const fresh = await models(await newToken());
    const names = ["limit-requests", "remaining-requests", "limit-tokens", "remaining-tokens"];
    assert.deepEqual(
      names.map((name) => header(fresh, `x-ratelimit-${name}`)),
      ["600", "599", "2000000", "2000000"],
    );
    const key = await newToken({ requests: 20 });
    const answers = await inTurn(21, (n) => models(key, n));
    assert.deepEqual(statuses(answers), [...times(20, () => 200), 429]);
    assert.deepEqual(remaining(answers, "requests"), [...times(20, (i) => String(19 - i)), "0"]);
    const { response: refused, text } = answers.at(-1) as Told;
    assertRetryNextMinute(refused, "requests");
    assert.equal(codeOf(text), "rate_limit_requests");
    const record = await stage.record(refused);
    assert.deepEqual([record?.endpoint, record?.outcome], ["models", "rate_limit_requests"]);
    await pass(leftOfMinuteMs());
    assert.deepEqual(statuses(await inTurn(2, (n) => models(key, n))), [200, 200]);
  });

  test("exactly 60 of 61 concurrent requests pass with a limit of 60 per minute", async () => {
    const key = await newToken({ requests: 60 });
    const answers = (await Promise.all(times(61, async (n) => told(await models(key, n))))).map(
      ({ response }) => response.status,
    );
    assert.deepEqual(answers.toSorted(), [...times(60, () => 200), 429]);
  });

  test("a key's requests get a 429 once its token limit is used up; the request that crosses the limit is served", async () => {
    const answer = await chat(await newToken(), { text: "three words long" });
    const { usage } = (await answer.json()) as { usage: { total_tokens: number } };
    const each = usage.total_tokens;
    for (const [budget, passes] of [
      [1, 1],
      [2 * each, 2],
      [2 * each + 1, 3],
    ] as const) {
      const key = await newToken({ tokens: budget });
      const asked = await inTurn(passes + 1, (n) => chat(key, { text: "three words long" }, {}, n));
      const passed = times(passes, (i) => i);
      assert.deepEqual(statuses(asked), [...passed.map(() => 200), 429]);
      assert.deepEqual(remaining(asked, "tokens"), [...passed.map((i) => String(budget - i * each)), "0"]);
      const { response: refused, text } = asked.at(-1) as Told;
      assertRetryNextMinute(refused, "tokens");
      assert.equal(codeOf(text), "rate_limit_tokens");
      assert.equal((await stage.record(refused))?.outcome, "rate_limit_tokens");
      for (const n of [0, 1]) assert.equal((await models(key, n)).status, 429, "and so is every request of the key");
    }
  });

  test("billed tokens count against the token limit, even those of a failed request; free requests do not count", async () => {
    for (const stream of [false, true]) {
      const key = await newToken();
      const [free, before] = await inTurn(2, (n) =>
        n === 0 ? chat(key, { text: "x" }, { model: "mid-14b", stream }) : models(key, n),
      );
      const [failed, after] = await inTurn(2, (n) =>
        n === 0 ? chat(key, { text: "one two three", fail_after: 2 }, { stream }) : models(key, n),
      );
      assert.match(free?.text ?? "", /no_capacity/);
      assert.match(failed?.text ?? "", /upstream_failed/);
      const record = await stage.record((failed as Told).response);
      assert.ok(record && record.prompt_tokens > 0 && record.completion_tokens > 0);
      const spent = record.prompt_tokens + record.completion_tokens;
      assert.deepEqual(remaining([before, after] as Told[], "tokens"), ["2000000", String(2_000_000 - spent)]);
    }
  });

  test("an operator's limits for a key replace the defaults for this key only", async () => {
    const three = await newToken({ requests: 3, tokens: 5_000 });
    const answers = await inTurn(4, (n) => models(three, n));
    assert.deepEqual(remaining(answers, "requests"), ["2", "1", "0", "0"]);
    for (const { response } of answers) {
      assert.equal(header(response, "x-ratelimit-limit-requests"), "3");
      assert.equal(header(response, "x-ratelimit-limit-tokens"), "5000");
    }
    assert.equal(codeOf(answers.at(-1)?.text ?? ""), "rate_limit_requests");
    assert.equal((await models(await newToken())).status, 200);
    const { admitted, refused, end } = await flood(await newToken({ inFlight: 2 }), 5);
    assert.deepEqual([admitted, refused.length], [2, 3]);
    await end();
  });

  test("GET /v1/models counts towards the request limit, and is in flight only until its response", async () => {
    const key = await newToken({ inFlight: 1 });
    const listed = await inTurn(20, (n) => models(key, n));
    assert.deepEqual(new Set(statuses(listed)), new Set([200]));
    assert.deepEqual(
      remaining(listed, "requests"),
      times(20, (i) => String(599 - i)),
    );
    assert.equal((await chat(key, { text: "x" })).status, 200);
  });

  test("a client that waits for each response is never refused for requests in flight", async () => {
    const key = await newToken({ inFlight: 1 });
    const answers = await inTurn(60, (n) => chat(key, { text: "x" }, { stream: n % 3 === 0 }, n));
    assert.deepEqual(new Set(statuses(answers)), new Set([200]));
  });

  test("a model at the catalogue's limit gets a 429 with a retry after 1 s on every gateway; other models are served", async () => {
    const key = await newToken();
    const { admitted, refused, codes, end } = await flood(key, 4, CAPPED);
    assert.deepEqual([admitted, codes], [2, ["rate_limit_sku_capacity", "rate_limit_sku_capacity"]]);
    const { response } = refused[0] as Told;
    assertRetryIn(response, "1");
    const record = await stage.record(response);
    assert.deepEqual([record?.outcome, record?.model], ["rate_limit_sku_capacity", CAPPED]);
    for (const n of [0, 1]) {
      assert.equal((await chat(await newToken(), { text: "x" }, { model: CAPPED }, n)).status, 429, "for any key");
      assert.equal((await chat(key, { text: "x" }, {}, n)).status, 200);
    }
    await end();
    assert.equal((await chat(key, { text: "x" }, { model: CAPPED })).status, 200);
  });

  test("the default limit of a model is twice its connected slots, and at least 8", async () => {
    for (const [model, slots, ceiling] of [
      ["mid-14b", 1, 8],
      ["small-7b-alt", 6, 12],
    ] as const) {
      const node = await stage.node({ models: [model], slots });
      const { admitted, refused, end } = await flood(await newToken(), ceiling + 2, model);
      assert.deepEqual([admitted, refused.length], [ceiling, 2], model);
      await end();
      await node.stop();
    }
  });

  test("concurrent requests on all gateways never exceed a key's budget, and each refusal names the budget", async () => {
    const orders = { tokens: 40, overrun: true };
    const first = await chat(await newToken(), orders, { max_tokens: 20 });
    const price = BigInt((await stage.record(first))?.hold_pico ?? 0);
    const { id, token } = await newKey({ budgetMonth: price * 9n + 1n });
    const answers = await Promise.all(times(40, async (n) => told(await chat(token, orders, { max_tokens: 20 }, n))));
    const refused = answers.filter(({ response }) => response.status !== 200);
    assert.deepEqual([answers.length - refused.length, refused.length], [9, 31]);
    for (const { response, text } of refused) {
      assert.equal(response.status, 402);
      assert.match(text, /The monthly budget of the API key \\"made\\" does not cover this request/);
    }
    await stage.noHolds();
    const spent = await stage.query("select month_spent::text, month_held::text from key_budget where key_id = $1", [
      id,
    ]);
    assert.deepEqual(spent, [{ month_spent: String(price * 9n), month_held: "0" }]);
  });

  test("an expired key gets a 401 on every gateway; after a rotation the old secret works for the chosen time", async () => {
    const brief = await newKey();
    const rotated = await newKey();
    const statusesOf = async (token: string): Promise<number[]> => statuses(await inTurn(2, (n) => models(token, n)));
    for (const { token } of [brief, rotated]) assert.deepEqual(await statusesOf(token), [200, 200]);
    const { apiKeys } = at(0);
    const ends = { expiresAt: new Date(stage.clock.now() + 2_000) };
    assert.equal(await apiKeys.change(account as Uuid, brief.id as Uuid, ends), true);
    const renewed = (await apiKeys.rotate(account as Uuid, rotated.id as Uuid, 4_000)) as string;
    const becomes401 = async (token: string): Promise<void> => {
      for (const n of [0, 1]) await eventually("it is refused", async () => (await models(token, n)).status === 401);
    };
    for (const token of [brief.token, renewed, rotated.token]) assert.deepEqual(await statusesOf(token), [200, 200]);
    await pass(2_000);
    await becomes401(brief.token);
    assert.deepEqual(await statusesOf(rotated.token), [200, 200], "the old one is kept");
    await pass(2_000);
    await becomes401(rotated.token);
    assert.deepEqual(await statusesOf(renewed), [200, 200]);
    const last = (await apiKeys.rotate(account as Uuid, rotated.id as Uuid, 0)) as string;
    await becomes401(renewed);
    assert.deepEqual(await statusesOf(last), [200, 200]);
  });

  test("a key revoked on one gateway gets a 401 on the other", async () => {
    const { id, token } = await newKey();
    for (const n of [0, 1]) assert.equal((await models(token, n)).status, 200);
    assert.equal(await at(0).apiKeys.revoke(null, id as Uuid), true);
    for (const n of [0, 1]) await eventually("it is refused", async () => (await models(token, n)).status === 401);
  });

  test("a model's availability is counted once for every second, even if several gateways sample it", async () => {
    const counted = () =>
      stage.query<{ model: string; samples: number; up: number; slots: number; minutes: number }>(
        `select model, sum(samples)::int as samples, sum(up)::int as up,
                (select count(*) from model_minute m where m.model = h.model)::int as minutes,
                (select extract(epoch from max(m.slot) - min(m.slot)) from model_minute m where m.model = h.model)::int + 1 as slots
           from model_hour h group by model order by model`,
      );
    const rows = await asTimePasses(stage, "ten seconds are sampled", async () => {
      const now = await counted();
      return now.some(({ minutes }) => minutes >= 10) && now;
    });
    for (const { model, samples, slots, minutes } of rows) {
      assert.equal(samples, slots, `${model}: every second is counted once, also those that nobody sampled`);
      assert.ok(minutes <= slots, model);
    }
    assert.ok((rows.find(({ model }) => model === "tiny-3b")?.up ?? 0) > 0);
  });

  describe("when Valkey is unreachable", { skip: GATEWAYS === 1 && "needs Valkey and NATS" }, () => {
    let valkey: TestValkeyServer;
    before(() => {
      valkey = stage.shared.valkey as TestValkeyServer;
    });
    const servesAgain = async (key: string): Promise<void> => {
      for (const n of [0, 1]) {
        await asTimePasses(stage, "it serves", async () => (await chat(key, { text: "x" }, {}, n)).status === 200);
        assert.deepEqual(await readiness(at(n).internalUrl), { status: 200, limits: "up" });
      }
    };
    const outages = (): number =>
      stage.logged.filter(({ msg }) => String(msg).includes("limits server is unreachable")).length;

    test("while Valkey is down, gateways answer 503 and finish running requests; they serve again when it is back", async () => {
      const key = await newToken();
      const records = async (): Promise<number> => (await stage.query("select id from request")).length;
      const before = await records();
      const running = await chat(key, { tokens: 40, delta_ms: 100 }, { stream: true });
      await valkey.kill();
      for (const n of [0, 1]) {
        const headers = { authorization: `Bearer ${key}` };
        const body = JSON.stringify({ model: "tiny-3b", messages: [{ role: "user", content: "hi" }] });
        const whole = await sendRawRequest(at(n).baseUrl, { path: "/v1/chat/completions", headers, body });
        await assertGoldenAnswer("errors/503-limits-away", whole);
        assert.equal((await chat(key, { text: "x" }, { stream: true }, n)).status, 503);
        assert.equal((await models(key, n)).status, 503);
      }
      assert.equal(splitEvents(await inTime(stage, "the stream ends", running.text())).at(-1), "[DONE]");
      await stage.noHolds();
      assert.equal(await records(), before + 1, "only the running request is in the history");
      await valkey.start();
      await servesAgain(key);
      assert.equal(outages(), GATEWAYS, "each gateway logs the outage once, however many requests it refused");
    });

    test("while Valkey is frozen, gateways answer 503; they serve again when it responds", async (t) => {
      const key = await newToken();
      t.after(() => valkey.thaw());
      valkey.freeze();
      for (const n of [0, 1]) {
        const { baseUrl, internalUrl } = at(n);
        const answer = await inTime(stage, "it is refused", chat(key, { text: "hi" }, {}, n));
        assert.equal(answer.status, 503);
        assert.ok(Number(header(answer, "retry-after")) > 0);
        assert.equal((await chat(key, { text: "hi" }, {}, n)).status, 503, `${baseUrl}: at once`);
        assert.deepEqual(await readiness(internalUrl), { status: 503, limits: "away" });
        const metrics = await (await fetch(`${internalUrl}/metrics`)).text();
        assert.match(metrics, /^tollgate_limits_unavailable_total\{cause="timeout"\} [1-9]/m);
      }
      valkey.thaw();
      await servesAgain(key);
    });
  });
});

test("with LIMITS_WHEN_AWAY=local, a gateway applies limits by itself while Valkey is frozen", { skip }, async (t) => {
  const env = { LIMITS_WHEN_AWAY: "local" };
  const stage = await openStage({ as: "in-process", limits: "valkey", nodes: [{ models: ["tiny-3b"] }], env });
  t.after(() => stage.close());
  const valkey = stage.shared.valkey as TestValkeyServer;
  const { account } = await stage.builder();
  const { token } = await makeKey(stage.query, account);
  const { internalUrl } = stage.gateway;
  const hello = (): Promise<Response> => sendUserMessage(stage, token, { model: "tiny-3b", prompt: "hi" });
  assert.equal((await hello()).status, 200);
  t.after(() => valkey.thaw());
  valkey.freeze();
  const answer = await inTime(stage, "it is served", hello());
  assert.equal(answer.status, 200);
  assert.equal(header(answer, "x-ratelimit-limit-requests"), "600", "the share of the only gateway is the whole limit");
  assert.equal((await hello()).status, 200);
  assert.deepEqual(await readiness(internalUrl), { status: 200, limits: "away" });
  const metrics = await (await fetch(`${internalUrl}/metrics`)).text();
  assert.match(metrics, /^tollgate_limits_unavailable_total\{cause="timeout"\} [1-9]/m);
  valkey.thaw();
  await asTimePasses(stage, "it is back", async () => (await readiness(internalUrl)).limits === "up");
  assert.equal((await hello()).status, 200);
});
