/**
 * The limits of a key and of a model on a whole platform: refused exactly at the bound, told when to come back, recorded. How windows turn
 * with the minute, and the bounds of whole minutes, are in gateway/src/limits/limits.test.ts.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type KeyTraits, makeKey, openBuilder } from "@tollgate/stage/accounts.ts";
import { writeCatalogue } from "@tollgate/stage/catalogue.ts";
import { newDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev.ts";
import { assertBalanced, type RecordRow } from "@tollgate/stage/ledger-check.ts";
import { startNode } from "@tollgate/stage/nodes/agent.ts";
import { inOne } from "@tollgate/stage/periods.ts";
import { requestUuid } from "@tollgate/stage/raw-http.ts";
import { eventually } from "@tollgate/stage/wait.ts";

/** The catalogue lets in two of these, whatever the nodes could take. */
const CAPPED = "small-8b";
const ENDLESS = { tokens: 100_000, delta_ms: 100 };

/** An answer that was read. */
interface Told {
  response: Response;
  text: string;
}

describe("limits", () => {
  let dataDir: string;
  let platform: Platform;
  let account: string;
  before(async () => {
    dataDir = await newDataDir();
    const catalogue = await writeCatalogue(dataDir, { [CAPPED]: { admission_max: 2 } });
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", `tiny-3b,${CAPPED}`], {
      CATALOGUE_FILE: catalogue,
    });
    account = await openBuilder(platform.query, 5_000_000_000_000n);
  });
  after(async () => {
    assert.equal(await platform?.stop(), 0);
    await removeDataDir(dataDir);
  });

  const newKey = async (traits: KeyTraits = {}): Promise<string> =>
    (await makeKey(platform.query, account, traits)).token;
  const models = (key: string): Promise<Response> =>
    fetch(`${platform.ready.base_url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  const chat = (key: string, orders: object, more: object = {}, signal: AbortSignal | null = null): Promise<Response> =>
    fetch(`${platform.ready.base_url}/v1/chat/completions`, {
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
  /** Starts so many endless streams at once; their answers, and what ends them. */
  const flood = async (key: string, count: number, model = "tiny-3b") => {
    const gone = new AbortController();
    const answers = await Promise.all(
      Array.from({ length: count }, () => chat(key, ENDLESS, { stream: true, model, max_tokens: 5_000 }, gone.signal)),
    );
    const refused = answers.filter(({ status }) => status !== 200);
    // Read, or the client would take them for forgotten.
    const reading = answers.filter(({ status }) => status === 200).map((answer) => answer.text().catch(() => "gone"));
    const end = async (): Promise<void> => {
      gone.abort();
      await Promise.all(reading);
      await eventually("every hold has ended", async () => (await platform.query("select id from hold")).length === 0);
    };
    return { admitted: reading.length, refused, end };
  };
  const code = async (response: Response): Promise<string> =>
    ((await response.json()) as { error: { code: string } }).error.code;
  const recordOf = async (response: Response): Promise<RecordRow | undefined> => {
    const id = requestUuid(response.headers.get("x-request-id") as string);
    return (await platform.query<RecordRow>("select * from request where id = $1", [id]))[0];
  };
  const header = (response: Response, name: string): string | null => response.headers.get(name);
  const assertRetryIn = (response: Response, seconds: string): void =>
    assert.deepEqual([header(response, "retry-after"), header(response, "x-should-retry")], [seconds, "true"]);
  /** A refused window is new with the next minute: Retry-After is what the answer itself says is left of this one, in whole seconds. */
  const assertRetryNextMinute = (response: Response, window: "requests" | "tokens"): void => {
    const reset = header(response, `x-ratelimit-reset-${window}`) ?? "";
    const [, minutes = 0, seconds = 0, ms = 0] = /^(?:(\d+)m)?(?:([\d.]+)s)?(?:(\d+)ms)?$/.exec(reset) ?? [];
    const left = Number(minutes) * 60 + Number(seconds) + Number(ms) / 1000;
    assert.ok(left > 0 && left <= 60, reset);
    assertRetryIn(response, String(Math.ceil(left)));
  };
  /** One after the other, each read to its end. */
  const inTurn = async (count: number, ask: () => Promise<Response>): Promise<Told[]> => {
    const told: Told[] = [];
    for (let i = 0; i < count; i++) {
      const response = await ask();
      told.push({ response, text: await response.text() });
    }
    return told;
  };
  const statuses = (told: Told[]): number[] => told.map(({ response }) => response.status);
  const remaining = (told: Told[], of: "requests" | "tokens"): (string | null)[] =>
    told.map(({ response }) => header(response, `x-ratelimit-remaining-${of}`));

  test("64 at once pass, the 65th is refused for a second, and a slot that is free is free", async () => {
    const key = await newKey();
    const { admitted, refused, end } = await flood(key, 65);
    assert.equal(admitted, 64);
    const [response] = refused as [Response];
    assertRetryIn(response, "1");
    assert.equal(await code(response), "rate_limit_streams");
    const record = await recordOf(response);
    assert.deepEqual([record?.outcome, record?.http_status, record?.charge_pico], ["rate_limit_streams", 429, "0"]);
    await end();
    assert.equal((await chat(key, { text: "x" })).status, 200);
    await assertBalanced(platform);
  });

  test("every keyed answer tells where the key stands; a request above the limit is refused until the next minute", async () => {
    const fresh = await models(await newKey());
    assert.deepEqual(
      ["limit-requests", "remaining-requests", "limit-tokens", "remaining-tokens"].map((name) =>
        header(fresh, `x-ratelimit-${name}`),
      ),
      ["600", "599", "2000000", "2000000"],
    );
    assert.match(header(fresh, "x-ratelimit-reset-requests") ?? "", /^(\d+ms|[\d.]+s|1m0s)$/);

    const answers = await inOne("minute", async () => {
      const key = await newKey({ requests: 20 });
      return await inTurn(21, () => models(key));
    });
    assert.deepEqual(statuses(answers), [...Array.from({ length: 20 }, () => 200), 429]);
    assert.deepEqual(remaining(answers, "requests"), [...Array.from({ length: 20 }, (_, i) => String(19 - i)), "0"]);
    const { response: refused, text } = answers.at(-1) as Told;
    assertRetryNextMinute(refused, "requests");
    assert.match(text, /"code":"rate_limit_requests"/);
    const record = await recordOf(refused);
    assert.deepEqual([record?.endpoint, record?.outcome], ["models", "rate_limit_requests"]);
  });

  test("the token budget is refused exactly at its bound; a request may overshoot it, the next may not", async () => {
    const answer = await chat(await newKey(), { text: "three words long" });
    const { usage } = (await answer.json()) as { usage: { total_tokens: number } };
    const each = usage.total_tokens;
    for (const [budget, passes] of [
      [2 * each, 2],
      [2 * each + 1, 3],
    ] as const) {
      const { asked, listed } = await inOne("minute", async () => {
        const key = await newKey({ tokens: budget });
        const asked = await inTurn(passes + 1, () => chat(key, { text: "three words long" }));
        return { asked, listed: await models(key) };
      });
      const passed = Array.from({ length: passes }, (_, i) => i);
      assert.deepEqual(statuses(asked), [...passed.map(() => 200), 429]);
      assert.deepEqual(remaining(asked, "tokens"), [...passed.map((i) => String(budget - i * each)), "0"]);
      const { response: refused, text } = asked.at(-1) as Told;
      assertRetryNextMinute(refused, "tokens");
      assert.match(text, /"code":"rate_limit_tokens"/);
      assert.equal((await recordOf(refused))?.outcome, "rate_limit_tokens");
      assert.equal(listed.status, 429, "and so is every request of the key");
    }
  });

  test("what is billed takes of the token budget, also when it failed; what is free takes nothing", async () => {
    for (const stream of [false, true]) {
      const { free, failed, standings } = await inOne("minute", async () => {
        const key = await newKey();
        const [free] = await inTurn(1, () => chat(key, { text: "x" }, { model: "mid-14b", stream }));
        const before = await inTurn(1, () => models(key));
        const [failed] = await inTurn(1, () => chat(key, { text: "one two three", fail_after: 2 }, { stream }));
        return { free, failed, standings: [...before, ...(await inTurn(1, () => models(key)))] };
      });
      assert.match(free?.text ?? "", /no_capacity/);
      assert.match(failed?.text ?? "", /upstream_failed/);
      const record = await recordOf((failed as Told).response);
      assert.ok(record && record.prompt_tokens > 0 && record.completion_tokens > 0);
      const spent = record.prompt_tokens + record.completion_tokens;
      assert.deepEqual(remaining(standings, "tokens"), ["2000000", String(2_000_000 - spent)]);
    }
  });

  test("an operator's limits for one key take the place of the defaults, for that key alone", async () => {
    const answers = await inOne("minute", async () => {
      const three = await newKey({ requests: 3, tokens: 5_000 });
      return await inTurn(4, () => models(three));
    });
    assert.deepEqual(remaining(answers, "requests"), ["2", "1", "0", "0"]);
    for (const { response } of answers) {
      assert.equal(header(response, "x-ratelimit-limit-requests"), "3");
      assert.equal(header(response, "x-ratelimit-limit-tokens"), "5000");
    }
    assert.match(answers.at(-1)?.text ?? "", /"code":"rate_limit_requests"/);
    assert.equal((await models(await newKey())).status, 200);

    const { admitted, refused, end } = await flood(await newKey({ inFlight: 2 }), 5);
    assert.deepEqual([admitted, refused.length], [2, 3]);
    await end();
  });

  test("GET /v1/models counts as a request, and holds a slot no longer than it lives", async () => {
    const { listed, asked } = await inOne("minute", async () => {
      const key = await newKey({ inFlight: 1 });
      return { listed: await inTurn(20, () => models(key)), asked: await chat(key, { text: "x" }) };
    });
    assert.deepEqual(new Set(statuses(listed)), new Set([200]));
    assert.deepEqual(
      remaining(listed, "requests"),
      listed.map((_, i) => String(599 - i)),
    );
    assert.equal(asked.status, 200);
  });

  test("a model at the ceiling that the catalogue sets refuses for a second; other models serve", async () => {
    const key = await newKey();
    const { admitted, refused, end } = await flood(key, 3, CAPPED);
    assert.equal(admitted, 2);
    const [response] = refused as [Response];
    assertRetryIn(response, "1");
    assert.equal(await code(response), "rate_limit_sku_capacity");
    const record = await recordOf(response);
    assert.deepEqual([record?.outcome, record?.model], ["rate_limit_sku_capacity", CAPPED]);
    assert.equal((await chat(await newKey(), { text: "x" }, { model: CAPPED })).status, 429, "whoever asks");
    assert.equal((await chat(key, { text: "x" })).status, 200);
    await end();
    assert.equal((await chat(key, { text: "x" }, { model: CAPPED })).status, 200);
  });

  test("the default ceiling is twice the connected slots, and never under 8", async (t) => {
    const nodes = await Promise.all([
      startNode(platform, { name: "one slot", model: "mid-14b", slots: 1 }),
      startNode(platform, { name: "six slots", model: "small-7b-alt", slots: 6 }),
    ]);
    t.after(() => Promise.all(nodes.map((node) => node.kill())));
    for (const [model, ceiling] of [
      ["mid-14b", 8],
      ["small-7b-alt", 12],
    ] as const) {
      await eventually("the node takes requests", async () => {
        const response = await chat(await newKey(), { text: "x" }, { model });
        return response.status === 200;
      });
      const { admitted, refused, end } = await flood(await newKey(), ceiling + 2, model);
      assert.deepEqual([admitted, refused.length], [ceiling, 2], model);
      await end();
    }
  });
});
