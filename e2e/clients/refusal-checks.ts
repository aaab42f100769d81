/** Checks how a client shows refused requests, failures, and a stream that fails in the middle. */
import assert from "node:assert/strict";
import {
  addErrorNote,
  CLIENT_LACKS_FEATURE_REASON,
  type ClientCheck,
  type ClientCheckContext,
  expectFailure,
  makeExpectedError,
  makeScriptPrompt,
} from "./client-check.ts";
import type { ClientConnection, ClientRequest, ShownError } from "./client-interface.ts";
import { UNSERVED_MODEL } from "./client-platform.ts";

const STATUS_ALONE = "status and message, without the code";
const NEVER_RETRIES = "it retries nothing";
const HI = { model: "tiny-3b", prompt: "hi" };

/** Checks that plain and streamed requests are refused alike: before a stream begins, a refusal is an HTTP status. */
async function refuses(
  subject: ClientCheckContext,
  at: ClientConnection,
  ask: ClientRequest,
  expected: [number, string],
): Promise<ShownError> {
  const { client } = subject;
  const streamed = await expectFailure(client, (onText) => client.stream(at, ask, onText));
  assert.deepEqual(
    [streamed.status, streamed.code ?? undefined, streamed.text],
    [...makeExpectedError(subject, expected), ""],
  );
  const whole = await expectFailure(client, () => client.chat(at, ask));
  addErrorNote(subject, whole);
  assert.deepEqual([whole.status, whole.code ?? undefined], makeExpectedError(subject, expected));
  return whole;
}

const refusal =
  (from: "poor" | "empty" | "limited" | "unknown", expected: [number, string]): ClientCheck["check"] =>
  async (subject) => {
    await refuses(subject, subject.world[from], { ...HI, maxTokens: 1 }, expected);
    return subject.traits.losesCode && STATUS_ALONE;
  };

export const REFUSAL_CHECKS: ClientCheck[] = [
  { name: "401 invalid_api_key", column: "401", check: refusal("unknown", [401, "invalid_api_key"]) },
  {
    name: "402 hold_exceeds_balance, with what it needs",
    column: "402 hold",
    check: async (subject) => {
      const ask = { ...HI, maxTokens: 8000 };
      const { required } = await refuses(subject, subject.world.poor, ask, [402, "hold_exceeds_balance"]);
      if (required === null || required === undefined) return "without required_micro";
      assert.ok(required >= 320, "8,000 output tokens at $0.04 a million, and the prompt");
      return undefined;
    },
  },
  { name: "402 insufficient_credits", column: "402", check: refusal("empty", [402, "insufficient_credits"]) },
  {
    name: "404 model_not_found",
    column: "404",
    check: async (subject) => {
      const ask = { model: "no-such", prompt: "hi" };
      await refuses(subject, subject.world.connection(), ask, [404, "model_not_found"]);
      return subject.traits.losesCode && STATUS_ALONE;
    },
  },
  {
    name: "404 for the Responses API says what to use",
    column: "Responses",
    check: async ({ client, world }) => {
      const { responses } = client;
      if (responses === undefined) return CLIENT_LACKS_FEATURE_REASON;
      const seen = await expectFailure(client, () => responses(world.connection(), HI));
      assert.deepEqual([seen.status, seen.code ?? undefined], [404, undefined]);
      assert.match(seen.message, /\/v1\/chat\/completions/);
      return undefined;
    },
  },
  {
    name: "a prompt that is too long",
    column: "too long",
    check: async (subject) => {
      const { client, traits, world } = subject;
      const ask = { model: "tiny-3b", prompt: "word ".repeat(9_000) };
      const seen = await expectFailure(client, () => client.chat(world.connection(), ask));
      addErrorNote(subject, seen);
      assert.match(seen.message, /maximum context length is 8192 tokens/);
      if (traits.contextRaises === undefined) return `told as ${seen.raised}: the message says it`;
      assert.equal(seen.raised, traits.contextRaises);
      return undefined;
    },
  },
  { name: "429 rate_limit_requests", column: "429", check: refusal("limited", [429, "rate_limit_requests"]) },
  {
    name: "429 is tried again",
    column: "429 again",
    check: async (subject) => {
      const { client, traits, world } = subject;
      const { at, free } = await world.occupied();
      const before = await world.requests("rate_limit_streams");
      const ask = { model: "tiny-3b", prompt: makeScriptPrompt({ text: "mine" }) };
      if (traits.neverRetries) {
        await refuses(subject, { ...at, maxRetries: 20 }, ask, [429, "rate_limit_streams"]).finally(free);
        return NEVER_RETRIES;
      }
      const asked = client.chat({ ...at, maxRetries: 20 }, ask);
      const [answer] = await Promise.all([
        asked,
        Promise.race([world.untilRequests("rate_limit_streams", before + 1), asked]).finally(free),
      ]);
      assert.equal(answer.text, "mine");
      return undefined;
    },
  },
  {
    name: "502 upstream_failed",
    column: "502",
    check: async (subject) => {
      const { client, world } = subject;
      const ask = { model: "tiny-3b", prompt: makeScriptPrompt({ tokens: 5, fail_after: 2 }) };
      const seen = await expectFailure(client, () => client.chat(world.connection(), ask));
      addErrorNote(subject, seen);
      assert.deepEqual([seen.status, seen.code ?? undefined], makeExpectedError(subject, [502, "upstream_failed"]));
      return subject.traits.losesCode && STATUS_ALONE;
    },
  },
  {
    name: "503 no_capacity; in a stream, the code alone",
    column: "503",
    check: async (subject) => {
      const { client, traits, world } = subject;
      const ask = { model: UNSERVED_MODEL, prompt: "hi" };
      const whole = await expectFailure(client, () => client.chat(world.connection(), ask));
      addErrorNote(subject, whole);
      assert.deepEqual([whole.status, whole.code ?? undefined], makeExpectedError(subject, [503, "no_capacity"]));
      const streamed = await expectFailure(client, (onText) => client.stream(world.connection(), ask, onText));
      addErrorNote(subject, streamed);
      assert.equal(streamed.text, "");
      if (traits.losesCode) return STATUS_ALONE;
      assert.equal(streamed.code ?? undefined, traits.ignoresErrorEvent ? undefined : "no_capacity");
      return traits.ignoresErrorEvent && "in a stream, without the code";
    },
  },
  {
    name: "a stream that fails in the middle raises, with the code, after the text that came",
    column: "broken stream",
    check: async (subject) => {
      const { client, traits, world } = subject;
      const ask = { model: "tiny-3b", prompt: makeScriptPrompt({ tokens: 20, fail_after: 5, delta_ms: 2 }) };
      const seen = await expectFailure(client, (onText) => client.stream(world.connection(), ask, onText));
      addErrorNote(subject, seen);
      const withoutCode = traits.losesCode ?? traits.ignoresErrorEvent;
      const code = withoutCode ? undefined : "upstream_failed";
      assert.deepEqual([seen.raised, seen.code ?? undefined], [traits.streamRaises, code]);
      assert.ok(seen.text.split(" ").length >= 4, seen.text);
      return withoutCode && "raised, without the code";
    },
  },
  {
    name: "retries: what is free is repeated, what was billed only by clients that do not read the header",
    column: "retries",
    check: async (subject) => {
      const { client, traits, world, note } = subject;
      const at = world.connection({ maxRetries: 1 });
      const billed = { model: "tiny-3b", prompt: makeScriptPrompt({ tokens: 5, fail_after: 2 }) };
      const sent = async (work: () => Promise<unknown>, expected: [number, string]): Promise<number> => {
        const before = await world.requests();
        const seen = await expectFailure(client, work);
        assert.deepEqual([seen.status, seen.code ?? undefined], makeExpectedError(subject, expected));
        return (await world.requests()) - before;
      };
      const [onBilled, onFree] = [
        await sent(() => client.chat(at, billed), [502, "upstream_failed"]),
        await sent(() => client.chat(at, { model: UNSERVED_MODEL, prompt: "hi" }), [503, "no_capacity"]),
      ];
      note(`requests with one retry allowed: ${onBilled} for a billed 502, ${onFree} for a free 503`);
      assert.deepEqual([onBilled, onFree], [traits.repeatsBilled ? 2 : 1, traits.neverRetries ? 1 : 2]);
      if (traits.neverRetries) return NEVER_RETRIES;
      const { chatCarefully } = client;
      if (chatCarefully) assert.equal(await sent(() => chatCarefully(at, billed), [502, "upstream_failed"]), 1);
      return traits.repeatsBilled && "a billed 502 is repeated too";
    },
  },
  {
    name: "a stream read for its text alone raises when it fails; onError tells the code",
    column: "",
    check: async ({ client, traits, world }) => {
      if (!traits.isAiSdk) return CLIENT_LACKS_FEATURE_REASON;
      const ask = { model: "tiny-3b", prompt: makeScriptPrompt({ tokens: 20, fail_after: 5 }) };
      const end = await client.streamText?.(world.connection(), ask);
      assert.ok(end && end.text.length > 0);
      assert.equal(end.raised, "AI_APICallError");
      assert.equal(client.seen(end.errors[0]).code, "upstream_failed");
      return undefined;
    },
  },
];
