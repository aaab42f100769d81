/**
 * Tests `streamWithRetry` of the examples in both languages: which errors it retries, which it never retries, and that
 * the output of a failed attempt is not shown.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { makeKey } from "@tollgate/stage/builder-and-host-accounts.ts";
import { keepModelBusy } from "@tollgate/stage/builder-requests.ts";
import type { Platform } from "@tollgate/stage/dev-platform.ts";
import { readBuilderAccount } from "@tollgate/stage/ledger-check.ts";
import { startNode } from "@tollgate/stage/nodes/start-agent.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import OpenAI, { type APIError } from "openai";
import { streamWithRetry } from "../../examples/typescript/retry-stream.ts";
import { type Language, runExample } from "./example-languages.ts";

interface Case {
  model: string;
  prompt: string;
  attemptsMax: number;
  thinks?: boolean;
  apiKey?: string;
}

interface Came {
  text: string;
  /** The number of chunks with a role, which begin an answer. */
  roles: number;
  /** For each retried error: its code, and whether the delay was a second or longer. */
  retries: [string | null, boolean][];
  raised: string | null;
}

/** The maximum number of attempts: enough that a node connects before the last one, even on a slow machine. */
const MANY = 100_000;
/** A model that no node serves until the test starts one. */
const LATE = "small-8b";
const UNSERVED = "mid-14b";
const NOTHING = { text: "", roles: 0 };

const script = (orders: object): string => `#script ${JSON.stringify(orders)}`;
const tiny = (orders: object, more: Partial<Case> = {}): Case => ({
  model: "tiny-3b",
  prompt: script(orders),
  attemptsMax: 2,
  ...more,
});

export function defineRetryTests(languages: Language[], current: () => Platform): void {
  const here = languages.filter(({ missing }) => missing === undefined);
  const came = (language: Language, asked: Case[]): Promise<Came[]> =>
    language.name === "Python"
      ? inPython(language, current(), asked)
      : Promise.all(asked.map((one) => inTypeScript(current(), one)));

  test("the retry sample repeats a request refused with no_capacity until a node connects, and shows only the last attempt's output", async () => {
    const platform = current();
    const ask = { model: LATE, prompt: script({ text: "at last" }), attemptsMax: MANY };
    const asked = Promise.all(here.map((language) => came(language, [ask])));
    const refusals = "select id from request where model = $1 and outcome = 'no_capacity'";
    const refused = async (): Promise<boolean> => (await platform.query(refusals, [LATE])).length > 0;
    await eventually("one was refused", refused);
    const node = await startNode(platform, { name: "late", model: LATE, slots: 2 });
    for (const [{ retries, ...seen } = {} as Came] of await asked) {
      assert.deepEqual(seen, { text: "at last", roles: 1, raised: null });
      assert.ok(retries.every(([code]) => code === "no_capacity"));
    }
    await node.kill();
  });

  for (const language of here) {
    describe(language.name, () => {
      test("the retry sample repeats a request refused with rate_limit_streams after the delay in Retry-After", async () => {
        const platform = current();
        const { id } = await readBuilderAccount(platform);
        const { id: keyId, token } = await makeKey(platform.query, id, { inFlight: 1 });
        const free = await keepModelBusy({ ...platform, ready: { ...platform.ready, api_key: token } }, "tiny-3b");
        const asked = came(language, [tiny({ text: "mine" }, { attemptsMax: MANY, apiKey: token })]);
        const refusals = "select id from request where outcome = 'rate_limit_streams' and key_id = $1";
        const refused = async (): Promise<boolean> => (await platform.query(refusals, [keyId])).length > 0;
        await eventually("it was refused", refused);
        await free();
        const [{ retries, ...seen } = {} as Came] = await asked;
        assert.deepEqual(seen, { text: "mine", roles: 1, raised: null });
        assert.ok(retries.length > 0);
        for (const retry of retries) assert.deepEqual(retry, ["rate_limit_streams", true]);
      });

      test("the retry sample retries an unbilled request that stalled, but none with output, a charge or a final error", async () => {
        const [midway, failed, stalled, thinking, wrongKey, bounded] = await came(language, [
          tiny({ text: "one two three four", fail_after: 3 }),
          tiny({ text: "never", fail_after: 0 }),
          tiny({ text: "never", stall_after: 0 }),
          tiny({ text: "never", stall_after: 0 }, { thinks: true }),
          tiny({ text: "never" }, { apiKey: `tsk_live_${"a".repeat(12)}_${"b".repeat(43)}` }),
          { model: UNSERVED, prompt: "hi", attemptsMax: 3 },
        ]);
        assert.deepEqual(midway, { text: "one two three", roles: 1, retries: [], raised: "upstream_failed" });
        assert.deepEqual(failed, { ...NOTHING, retries: [], raised: "upstream_failed" });
        assert.deepEqual(stalled, { ...NOTHING, retries: [["upstream_stall", false]], raised: "upstream_stall" });
        assert.deepEqual(thinking, { ...NOTHING, retries: [], raised: "upstream_stall" });
        assert.deepEqual(wrongKey, { ...NOTHING, retries: [], raised: "invalid_api_key" });
        const again = ["no_capacity", false];
        assert.deepEqual(bounded, { ...NOTHING, retries: [again, again], raised: "no_capacity" });
      });
    });
  }

  test("the TypeScript retry sample stops waiting when its abort signal fires", async () => {
    const leaving = new AbortController();
    const options = { waitMs: 60_000, waitMsMax: 60_000, signal: leaving.signal, onRetry: () => leaving.abort() };
    const body = { model: UNSERVED, messages: [{ role: "user" as const, content: "hi" }] };
    const chunks = streamWithRetry(connect(current()), body, options);
    await assert.rejects(Array.fromAsync(chunks), { name: "AbortError" });
  });
}

const connect = ({ ready }: Platform, apiKey = ready.api_key): OpenAI =>
  new OpenAI({ baseURL: `${ready.gateway_url}/v1`, apiKey });

async function inTypeScript(platform: Platform, { model, prompt, apiKey, ...bounds }: Case): Promise<Came> {
  const came: Came = { ...NOTHING, retries: [], raised: null };
  const onRetry = (error: unknown, waitMs: number): void => {
    came.retries.push([(error as APIError).code ?? null, waitMs >= 1000]);
  };
  const body = { model, messages: [{ role: "user" as const, content: prompt }] };
  const options = { ...bounds, waitMs: 10, waitMsMax: 100, onRetry };
  try {
    for await (const { choices } of streamWithRetry(connect(platform, apiKey), body, options)) {
      for (const { delta } of choices) {
        if (delta.role) came.roles++;
        came.text += delta.content ?? "";
      }
    }
  } catch (error) {
    if (!(error instanceof OpenAI.APIError)) throw error;
    came.raised = error.code ?? null;
  }
  return came;
}

async function inPython({ command, folder }: Language, platform: Platform, asked: Case[]): Promise<Came[]> {
  const cases = fileURLToPath(new URL("retry_cases.py", import.meta.url));
  const ran = await runExample([...command, cases], [JSON.stringify(asked)], platform.ready, { PYTHONPATH: folder });
  assert.equal(ran.code, 0, ran.stderr);
  return JSON.parse(ran.stdout);
}
