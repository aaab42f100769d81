/** The limits of a key and of a model on a whole platform: refused exactly at the bound, told when to come back, recorded. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { inOneMinute, type KeyTraits, makeKey, openBuilder, startNode, writeCatalogue } from "./fixtures.ts";
import { assertBalanced, type RecordRow } from "./ledger-check.ts";
import { newDataDir, type Platform, removeDataDir, startPlatform } from "./platform.ts";
import { requestUuid } from "./raw-http.ts";

/** The catalogue lets in two of these, whatever the nodes could take. */
const CAPPED = "small-8b";
const ENDLESS = { tokens: 100_000, delta_ms: 100 };

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
      Array.from({ length: count }, () => chat(key, ENDLESS, { stream: true, model }, gone.signal)),
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
  /** A refused window is new with the next minute: Retry-After is what the answer's own date leaves of this one. */
  const assertRetryNextMinute = (response: Response): void => {
    const wait = Number(header(response, "retry-after"));
    const left = 60 - new Date(header(response, "date") as string).getUTCSeconds();
    assert.ok(wait === left || wait === left + 1, `${wait} s, when ${left} s are left`);
    assert.equal(header(response, "x-should-retry"), "true");
  };

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

  test("every keyed answer tells where the key stands; the 601st request of a minute is refused until the next", async () => {
    await inOneMinute(async () => {
      const key = await newKey();
      const first = await models(key);
      assert.deepEqual(
        ["limit-requests", "remaining-requests", "limit-tokens", "remaining-tokens"].map((name) =>
          header(first, `x-ratelimit-${name}`),
        ),
        ["600", "599", "2000000", "2000000"],
      );
      assert.match(header(first, "x-ratelimit-reset-requests") ?? "", /^(\d+ms|[\d.]+s|1m0s)$/);
      const answers = [first];
      // Six lanes, so that none of them comes near the limit of those in flight.
      await Promise.all(
        Array.from({ length: 6 }, async () => {
          for (let i = 0; i < 100; i++) {
            const response = await models(key);
            answers.push(response);
            if (response.status === 200) await response.arrayBuffer();
          }
        }),
      );
      const [refused, ...more] = answers.filter(({ status }) => status === 429) as [Response, ...Response[]];
      assert.deepEqual([answers.length, more.length], [601, 0]);
      assertRetryNextMinute(refused);
      assert.equal(header(refused, "x-ratelimit-remaining-requests"), "0");
      assert.equal(await code(refused), "rate_limit_requests");
      assert.deepEqual(((record) => [record?.endpoint, record?.outcome])(await recordOf(refused)), [
        "models",
        "rate_limit_requests",
      ]);
    });
  });

  test("the token budget is refused exactly at its bound; a request may overshoot it, the next may not", async () => {
    const answer = await chat(await newKey(), { text: "three words long" });
    const { usage } = (await answer.json()) as { usage: { total_tokens: number } };
    const each = usage.total_tokens;
    await inOneMinute(async () => {
      for (const [budget, passes] of [
        [2 * each, 2],
        [2 * each + 1, 3],
      ] as const) {
        const key = await newKey({ tokens: budget });
        for (let i = 0; i < passes; i++) {
          const response = await chat(key, { text: "three words long" });
          assert.equal(response.status, 200, `request ${i + 1} of ${budget} tokens`);
          assert.equal(header(response, "x-ratelimit-remaining-tokens"), String(budget - i * each));
          await response.arrayBuffer();
        }
        const refused = await chat(key, { text: "three words long" });
        assert.equal(refused.status, 429);
        assertRetryNextMinute(refused);
        assert.equal(header(refused, "x-ratelimit-remaining-tokens"), "0");
        assert.equal(await code(refused), "rate_limit_tokens");
        assert.equal((await recordOf(refused))?.outcome, "rate_limit_tokens");
        assert.equal((await models(key)).status, 429, "and so is every request of the key");
      }
    });
  });

  test("what is billed takes of the token budget, also when it failed; what is free takes nothing", async () => {
    await inOneMinute(async () => {
      for (const stream of [false, true]) {
        const key = await newKey();
        const free = await chat(key, { text: "x" }, { model: "mid-14b", stream });
        assert.match(await free.text(), /no_capacity/);
        assert.equal(header(await models(key), "x-ratelimit-remaining-tokens"), "2000000");
        const failed = await chat(key, { text: "one two three", fail_after: 2 }, { stream });
        assert.match(await failed.text(), /upstream_failed/);
        const record = await recordOf(failed);
        assert.ok(record && record.prompt_tokens > 0 && record.completion_tokens > 0);
        const spent = record.prompt_tokens + record.completion_tokens;
        assert.equal(header(await models(key), "x-ratelimit-remaining-tokens"), String(2_000_000 - spent));
      }
    });
  });

  test("an operator's limits for one key take the place of the defaults, for that key alone", async () => {
    await inOneMinute(async () => {
      const three = await newKey({ requests: 3, tokens: 5_000 });
      for (const left of ["2", "1", "0"]) {
        const response = await models(three);
        assert.equal(header(response, "x-ratelimit-remaining-requests"), left);
        assert.equal(header(response, "x-ratelimit-limit-requests"), "3");
        assert.equal(header(response, "x-ratelimit-limit-tokens"), "5000");
      }
      assert.equal(await code(await models(three)), "rate_limit_requests");
      assert.equal((await models(await newKey())).status, 200);

      const { admitted, refused, end } = await flood(await newKey({ inFlight: 2 }), 5);
      assert.deepEqual([admitted, refused.length], [2, 3]);
      await end();
    });
  });

  test("GET /v1/models counts as a request, and holds a slot no longer than it lives", async () => {
    await inOneMinute(async () => {
      const key = await newKey({ inFlight: 1 });
      for (let i = 1; i <= 20; i++) {
        const response = await models(key);
        assert.equal(response.status, 200);
        assert.equal(header(response, "x-ratelimit-remaining-requests"), String(600 - i));
        await response.arrayBuffer();
      }
      assert.equal((await chat(key, { text: "x" })).status, 200);
    });
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
    t.after(() => nodes.map((node) => node.kill()));
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
