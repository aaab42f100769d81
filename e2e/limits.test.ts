/** The limits of a key and of a model on a whole platform: refused exactly at the bound, told when to come back, recorded. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { assertBalanced, type RecordRow } from "./books.ts";
import { chat, eventually, newDataDir, type Platform, removeDataDir, startPlatform } from "./platform.ts";

describe("limits", () => {
  let dataDir: string;
  let platform: Platform;
  before(async () => {
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b"]);
  });
  after(async () => {
    assert.equal(await platform?.stop(), 0);
    await removeDataDir(dataDir);
  });

  const models = (): Promise<Response> =>
    fetch(`${platform.ready.base_url}/v1/models`, { headers: { authorization: `Bearer ${platform.ready.api_key}` } });
  const code = async (response: Response): Promise<string> =>
    ((await response.json()) as { error: { code: string } }).error.code;

  test("64 at once pass, the 65th is refused for a second, and a slot that is free is free", async () => {
    const gone = Array.from({ length: 64 }, () => new AbortController());
    const streams = await Promise.all(
      gone.map(({ signal }) =>
        chat(platform, { tokens: 5000, delta_ms: 100 }, { stream: true, max_tokens: 500 }, signal),
      ),
    );
    assert.ok(streams.every(({ status }) => status === 200));
    const refused = await chat(platform, { text: "x" });
    assert.deepEqual(
      [refused.status, refused.headers.get("retry-after"), refused.headers.get("x-should-retry")],
      [429, "1", "true"],
    );
    assert.equal(await code(refused), "rate_limit_streams");
    const [row] = await platform.query<RecordRow>("select * from request where outcome = 'rate_limit_streams'");
    assert.deepEqual([row?.http_status, row?.charge_pico], [429, "0"]);
    gone[0]?.abort();
    await eventually("the slot is free", async () => (await chat(platform, { text: "x" })).status === 200);
    for (const { abort } of gone.map((g) => ({ abort: () => g.abort() }))) abort();
    await eventually("every hold has ended", async () => (await platform.query("select id from hold")).length === 0);
    await assertBalanced(platform);
  });

  test("every keyed answer tells where the key stands; the 601st request of a minute is refused until the next", async () => {
    const first = await models();
    assert.equal(first.headers.get("x-ratelimit-limit-requests"), "600");
    assert.match(first.headers.get("x-ratelimit-reset-requests") ?? "", /^(\d+ms|[\d.]+s|\d+m[\d.]+s)$/);
    assert.equal(first.headers.get("x-ratelimit-limit-tokens"), "2000000");
    let refused: Response | undefined;
    let admittedInThisMinute = 600 - Number(first.headers.get("x-ratelimit-remaining-requests"));
    let minute = Math.floor(Date.now() / 60_000);
    for (let i = 0; refused === undefined && i < 2000; i++) {
      const response = await models();
      await response.arrayBuffer();
      const now = Math.floor(Date.now() / 60_000);
      if (now !== minute) [minute, admittedInThisMinute] = [now, 0];
      if (response.status === 429) refused = response;
      else admittedInThisMinute = 600 - Number(response.headers.get("x-ratelimit-remaining-requests"));
    }
    assert.equal(refused?.status, 429);
    assert.equal(admittedInThisMinute, 600);
    const wait = Number(refused.headers.get("retry-after"));
    const left = 60 - new Date().getUTCSeconds();
    assert.ok(wait >= 1 && Math.abs(wait - left) <= 1, `${wait} s, ${left} s left`);
    assert.equal(refused.headers.get("x-ratelimit-remaining-requests"), "0");
    const [row] = await platform.query<RecordRow>(
      "select * from request where outcome = 'rate_limit_requests' limit 1",
    );
    assert.equal(row?.endpoint, "models");
  });
});
