/**
 * The clients builders use, current and older, against a whole platform: what each of them shows of a good answer, of
 * every refusal, and of a stream that fails in the middle. Where a client has a trap, the trap is asserted too, so that
 * docs/builders.md stays true.
 */
import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import { assertBalanced, builder } from "../ledger-check.ts";
import { eventually, newDataDir, type Platform, raiseLimits, removeDataDir, startPlatform } from "../platform.ts";
import type { Ask, Client, Connection, Seen } from "./client.ts";
import { installPackages, installPython, pinnedPython, pinnedVersions } from "./install.ts";
import { pythonClient } from "./python.ts";

interface Entry {
  name: string;
  /** Why it cannot be driven here. */
  missing: string | undefined;
  load: () => Promise<Client>;
  /** What an error event inside a stream is raised as. */
  streamRaises: string;
  /** It asks for base64 without being told to, and misreads the floats that come. */
  corruptsFloats?: true;
  /** It does not read `x-should-retry`, so that its retries repeat a billed failure. */
  repeatsBilled?: true;
  /** It makes a dialogue of a completion's prompt, and `textStream` keeps a failure to itself. */
  isAiSdk?: true;
}

const SERVED = "tiny-3b,reason-32b,embed-m3";
const UNSERVED = "mid-14b";
const INPUT = ["first", "second"];

const missing = await installPackages();
const python = await installPython();
const version = await pinnedVersions();

const npm = (adapter: string, packageName: string, traits: Pick<Entry, "streamRaises"> & Partial<Entry>): Entry => ({
  name: `${packageName.replace(/-v\d$/, "")} ${version(packageName)}`,
  missing,
  // Named at run time: types and lint have to pass where the packages are not installed.
  load: async () => (await import(new URL(`adapters/${adapter}.mjs`, import.meta.url).href)).load(packageName),
  ...traits,
});
const entries: Entry[] = [
  npm("openai", "openai", { streamRaises: "APIError" }),
  npm("openai", "openai-v6", { streamRaises: "APIError", corruptsFloats: true }),
  npm("openai", "openai-v5", { streamRaises: "APIError", corruptsFloats: true }),
  npm("openai", "openai-v4", { streamRaises: "APIError", corruptsFloats: true }),
  npm("ai-sdk", "@ai-sdk/openai", {
    streamRaises: "AI_StreamProviderError",
    repeatsBilled: true,
    isAiSdk: true,
  }),
  npm("ai-sdk", "@ai-sdk/openai-compatible", {
    streamRaises: "AI_StreamProviderError",
    repeatsBilled: true,
    isAiSdk: true,
  }),
  npm("langchain", "@langchain/openai", { streamRaises: "APIError", repeatsBilled: true }),
  npm("llamaindex", "@llamaindex/openai", { streamRaises: "APIError", corruptsFloats: true }),
  {
    name: `${await pinnedPython()} for Python`,
    missing: "missing" in python ? python.missing : undefined,
    load: async () => pythonClient("interpreter" in python ? python.interpreter : ""),
    streamRaises: "APIError",
  },
];

const script = (orders: object): string => `#script ${JSON.stringify(orders)}`;

const noneLeft = entries.every((entry) => entry.missing !== undefined);

describe("clients", () => {
  const dataDirs: string[] = [];
  let platform: Platform;
  /** One whose key may send nothing at all. */
  let limited: Platform;
  const boot = async (flags: string[]): Promise<Platform> => {
    const dataDir = await newDataDir();
    dataDirs.push(dataDir);
    return await startPlatform(dataDir, ["--engine", "scripted", ...flags]);
  };
  before(async () => {
    if (noneLeft) return;
    platform = await boot(["--models", SERVED]);
    await raiseLimits(platform);
    limited = await boot(["--no-node"]);
    await limited.query("update api_key set requests_per_minute_max = 0");
  });
  after(async () => {
    for (const started of [platform, limited]) if (started) assert.equal(await started.stop(), 0);
    for (const dataDir of dataDirs) await removeDataDir(dataDir);
  });

  const connection = (to: Platform = platform, more: Partial<Connection> = {}): Connection => ({
    baseURL: `${to.ready.base_url}/v1`,
    apiKey: to.ready.api_key,
    maxRetries: 0,
    ...more,
  });
  const requests = async (): Promise<number> => (await platform.query("select id from request")).length;
  /** Runs something while the builder has just so much, in picodollars. */
  const withBalance = async (pico: bigint, work: () => Promise<void>): Promise<void> => {
    const { id, balance } = await builder(platform);
    const move = (kind: "refund" | "grant") =>
      platform.query("select ledger_transfer(gen_random_uuid(), $1, $2, $3, 'test')", [
        kind,
        id,
        (balance - pico).toString(),
      ]);
    await move("refund");
    try {
      await work();
    } finally {
      await move("grant");
      // That there was nothing is remembered for a second.
      await eventually("the credit counts again", async () => (await rawChat("no-such")) === 404);
    }
  };
  const rawChat = async (model: string): Promise<number> => {
    const { baseURL, apiKey } = connection();
    const headers = { authorization: `Bearer ${apiKey}` };
    const body = JSON.stringify({ model, messages: [{ role: "user", content: "hi" }] });
    return (await fetch(`${baseURL}/chat/completions`, { method: "POST", headers, body })).status;
  };
  const rawEmbeddings = async (): Promise<number[][]> => {
    const { baseURL, apiKey } = connection();
    const response = await fetch(`${baseURL}/embeddings`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ model: "embed-m3", input: INPUT }),
    });
    const { data } = (await response.json()) as { data: { embedding: number[] }[] };
    return data.map(({ embedding }) => embedding);
  };

  for (const entry of entries) {
    describe(entry.name, { skip: entry.missing }, () => {
      let client: Client;
      before(async () => {
        client = await entry.load();
      });
      after(() => client?.close?.());

      /** What the client raises, and the text that came before. */
      const failure = async (work: (onText: (text: string) => void) => Promise<unknown>) => {
        let text = "";
        const keep = (piece: string): void => {
          text += piece;
        };
        const result = await work(keep).then(
          (value) => ({ value }),
          (error: unknown) => ({ error }),
        );
        if (!("error" in result)) assert.fail(`nothing was raised; it answered ${JSON.stringify(result.value)}`);
        return { ...client.seen(result.error), text };
      };
      const record = (t: TestContext, { raised, status, code }: Seen): void =>
        t.diagnostic(`${raised}, status ${status ?? "none"}, code ${code ?? "none"}`);
      /** Both ways of asking are refused alike: before a stream has begun, a refusal is an HTTP status. */
      const refuses = async (t: TestContext, at: Connection, ask: Ask, expected: [number, string]): Promise<Seen> => {
        const streamed = await failure((onText) => client.stream(at, ask, onText));
        assert.deepEqual([streamed.status, streamed.code, streamed.text], [...expected, ""]);
        const whole = await failure(() => client.chat(at, ask));
        record(t, whole);
        assert.deepEqual([whole.status, whole.code], expected);
        return whole;
      };

      test("chat, whole and streamed", async () => {
        const ask = { model: "tiny-3b", prompt: script({ text: "one two three" }), maxTokens: 50 };
        const { reasoning, ...answer } = await client.chat(connection(), ask);
        assert.deepEqual(answer, { text: "one two three", finish: "stop", tokens: 3 });
        assert.equal(reasoning ?? undefined, undefined);
        const pieces: string[] = [];
        await client.stream(connection(), ask, (text) => pieces.push(text));
        assert.equal(pieces.join(""), "one two three");
        assert.ok(pieces.length > 1);
      });

      test("reasoning is apart from the answer, and can be had", async () => {
        const ask = { model: "reason-32b", prompt: script({ reasoning: "I think.", text: "It is so." }) };
        const { text, reasoning } = await client.chat(connection(), ask);
        assert.deepEqual([text, reasoning], ["It is so.", "I think."]);
      });

      test("completions", async (t) => {
        if (client.complete === undefined) return t.skip("the client has none");
        const text = await client.complete(connection(), { model: "tiny-3b", prompt: script({ text: "four five" }) });
        // A prompt that was made a dialogue is no script; the engine's own prose answers it.
        if (entry.isAiSdk) assert.ok(text.length > 0);
        else assert.equal(text, "four five");
      });

      test("embeddings have the values of raw HTTP", async (t) => {
        const ask = { model: "embed-m3", input: INPUT };
        const exact = await rawEmbeddings();
        const plain = await client.embed(connection(), ask);
        if (!entry.corruptsFloats) return assert.deepEqual(plain, exact);
        t.diagnostic("corrupt unless floats are asked for");
        assert.ok(plain.every((vector) => vector.length === 256 && vector.every((value) => value === 0)));
        assert.deepEqual(await client.embedSafely?.(connection(), ask), exact);
      });

      test("the list of models", async (t) => {
        if (client.models === undefined) return t.skip("the client has none");
        const ids = await client.models(connection());
        assert.equal(ids.length, 8);
        assert.ok(ids.includes("tiny-3b"));
      });

      test("401 invalid_api_key", async (t) => {
        const at = connection(platform, { apiKey: `tsk_live_${"a".repeat(12)}_${"b".repeat(43)}` });
        await refuses(t, at, { model: "tiny-3b", prompt: "hi" }, [401, "invalid_api_key"]);
      });

      test("402 hold_exceeds_balance, with what it needs", async (t) => {
        const ask = { model: "tiny-3b", prompt: "hi", maxTokens: 8000 };
        await withBalance(1_500_000n, async () => {
          const { required } = await refuses(t, connection(), ask, [402, "hold_exceeds_balance"]);
          assert.ok((required ?? 0) >= 320, "8,000 output tokens at $0.04 a million, and the prompt");
        });
      });

      test("402 insufficient_credits", async (t) => {
        const ask = { model: "tiny-3b", prompt: "hi", maxTokens: 1 };
        await withBalance(0n, async () => void (await refuses(t, connection(), ask, [402, "insufficient_credits"])));
      });

      test("404 model_not_found", async (t) => {
        await refuses(t, connection(), { model: "no-such", prompt: "hi" }, [404, "model_not_found"]);
      });

      test("404 for the Responses API says what to use", async (t) => {
        const { responses } = client;
        if (responses === undefined) return t.skip("the client has none");
        const seen = await failure(() => responses(connection(), { model: "tiny-3b", prompt: "hi" }));
        assert.deepEqual([seen.status, seen.code ?? undefined], [404, undefined]);
        assert.match(seen.message, /\/v1\/chat\/completions/);
      });

      test("429 rate_limit_requests", async (t) => {
        await refuses(t, connection(limited), { model: "tiny-3b", prompt: "hi" }, [429, "rate_limit_requests"]);
      });

      test("502 upstream_failed", async (t) => {
        const ask = { model: "tiny-3b", prompt: script({ tokens: 5, fail_after: 2 }) };
        const seen = await failure(() => client.chat(connection(), ask));
        record(t, seen);
        assert.deepEqual([seen.status, seen.code], [502, "upstream_failed"]);
      });

      test("503 no_capacity; in a stream, the code alone", async (t) => {
        const ask = { model: UNSERVED, prompt: "hi" };
        const whole = await failure(() => client.chat(connection(), ask));
        record(t, whole);
        assert.deepEqual([whole.status, whole.code], [503, "no_capacity"]);
        const streamed = await failure((onText) => client.stream(connection(), ask, onText));
        record(t, streamed);
        assert.deepEqual([streamed.code, streamed.text], ["no_capacity", ""]);
      });

      test("a stream that fails in the middle raises, with the code, after the text that came", async (t) => {
        const ask = { model: "tiny-3b", prompt: script({ tokens: 20, fail_after: 5, delta_ms: 2 }) };
        const seen = await failure((onText) => client.stream(connection(), ask, onText));
        record(t, seen);
        assert.deepEqual([seen.raised, seen.code], [entry.streamRaises, "upstream_failed"]);
        assert.ok(seen.text.split(" ").length >= 4, seen.text);
      });

      test("retries: what is free is repeated, what was billed only by clients that do not read the header", async (t) => {
        const at = connection(platform, { maxRetries: 1 });
        const billed = { model: "tiny-3b", prompt: script({ tokens: 5, fail_after: 2 }) };
        const sent = async (work: () => Promise<unknown>, code: string): Promise<number> => {
          const before = await requests();
          assert.equal((await failure(work)).code, code);
          return (await requests()) - before;
        };
        const [onBilled, onFree] = [
          await sent(() => client.chat(at, billed), "upstream_failed"),
          await sent(() => client.chat(at, { model: UNSERVED, prompt: "hi" }), "no_capacity"),
        ];
        t.diagnostic(`requests with one retry allowed: ${onBilled} for a billed 502, ${onFree} for a free 503`);
        assert.deepEqual([onBilled, onFree], [entry.repeatsBilled ? 2 : 1, 2]);
        const { chatCarefully } = client;
        if (chatCarefully) assert.equal(await sent(() => chatCarefully(at, billed), "upstream_failed"), 1);
      });

      if (!entry.isAiSdk) return;
      test("a stream read for its text alone ends quietly; onError and finishReason tell", async () => {
        const ask = { model: "tiny-3b", prompt: script({ tokens: 20, fail_after: 5 }) };
        const end = await client.streamText?.(connection(), ask);
        assert.ok(end && end.text.length > 0);
        assert.equal(end.finish, "error");
        assert.deepEqual(
          end.errors.map((error) => client.seen(error).code),
          ["upstream_failed"],
        );
      });
    });
  }

  test("the books are balanced after all of them", { skip: noneLeft }, async () => {
    await eventually("no hold is left", async () => (await platform.query("select id from hold")).length === 0);
    await assertBalanced(platform);
  });
});
