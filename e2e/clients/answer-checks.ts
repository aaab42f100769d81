/** Checks how a client shows successful answers. */
import assert from "node:assert/strict";
import { CLIENT_LACKS_FEATURE_REASON, type ClientCheck, makeScriptPrompt } from "./client-check.ts";

const INPUT = ["first", "second"];

/** Rounds to single precision, because base64 and some languages' vectors have no more. */
const single = (vectors: number[][]): number[][] => vectors.map((vector) => vector.map(Math.fround));

export const ANSWER_CHECKS: ClientCheck[] = [
  {
    name: "chat, whole",
    column: "chat",
    check: async ({ client, world }) => {
      const ask = { model: "tiny-3b", prompt: makeScriptPrompt({ text: "one two three" }), maxTokens: 50 };
      const { reasoning, finish, ...answer } = await client.chat(world.connection(), ask);
      assert.deepEqual(answer, { text: "one two three", tokens: 3 });
      assert.equal(reasoning ?? undefined, undefined);
      if (finish === null) return "without a finish reason";
      assert.equal(finish, "stop");
      return undefined;
    },
  },
  {
    name: "chat, streamed",
    column: "stream",
    check: async ({ client, world }) => {
      // The gateway sends pieces that arrive together as one event, so a delay keeps them apart.
      const ask = {
        model: "tiny-3b",
        prompt: makeScriptPrompt({ text: "one two three", delta_ms: 100 }),
        maxTokens: 50,
      };
      const pieces: string[] = [];
      await client.stream(world.connection(), ask, (text) => pieces.push(text));
      assert.equal(pieces.join(""), "one two three");
      assert.ok(pieces.length > 1);
      return undefined;
    },
  },
  {
    name: "a stream tells what it used",
    column: "usage",
    check: async ({ client, world }) => {
      if (client.streamUsage === undefined) return "its streams tell no usage";
      const ask = { model: "tiny-3b", prompt: makeScriptPrompt({ text: "one two three" }), maxTokens: 50 };
      assert.equal(await client.streamUsage(world.connection(), ask), 3);
      return undefined;
    },
  },
  {
    name: "reasoning is apart from the answer, and can be had",
    column: "reasoning",
    check: async ({ client, world }) => {
      const ask = { model: "reason-32b", prompt: makeScriptPrompt({ reasoning: "I think.", text: "It is so." }) };
      const { text, reasoning } = await client.chat(world.connection(), ask);
      assert.equal(text, "It is so.");
      if (reasoning === null || reasoning === undefined) return "it shows the answer alone";
      assert.equal(reasoning, "I think.");
      return undefined;
    },
  },
  {
    name: "completions",
    column: "completions",
    check: async ({ client, traits, world }) => {
      if (client.complete === undefined) return CLIENT_LACKS_FEATURE_REASON;
      const prompt = makeScriptPrompt({ text: "four five" });
      const text = await client.complete(world.connection(), { model: "tiny-3b", prompt });
      // The AI SDK turns the prompt into a dialogue. It then contains no instructions for the scripted engine, which
      // answers with its own text.
      if (!traits.isAiSdk) return void assert.equal(text, "four five");
      assert.ok(text.length > 0 && text !== "four five");
      return "it makes a dialogue of the prompt";
    },
  },
  {
    name: "embeddings have the values of raw HTTP",
    column: "embeddings",
    check: async ({ client, world }) => {
      if (client.embed === undefined) return CLIENT_LACKS_FEATURE_REASON;
      const vectors = await client.embed(world.connection(), { model: "embed-m3", input: INPUT });
      assert.deepEqual(single(vectors), single(await world.rawEmbeddings(INPUT)));
      return undefined;
    },
  },
  {
    name: "the list of models",
    column: "models",
    check: async ({ client, world }) => {
      if (client.models === undefined) return CLIENT_LACKS_FEATURE_REASON;
      const ids = await client.models(world.connection());
      assert.equal(ids.length, 8);
      assert.ok(ids.includes("tiny-3b"));
      return undefined;
    },
  },
  {
    name: "structured output",
    column: "structured",
    check: async ({ client, traits, world }) => {
      const { structured } = client;
      if (structured === undefined) return CLIENT_LACKS_FEATURE_REASON;
      // A prompt without instructions for the scripted engine: its own text is checked against the schema.
      const ask = { model: "tiny-3b", prompt: "A number, please, as JSON." };
      const schema = {
        title: "number",
        type: "object",
        properties: { n: { type: "integer", minimum: 7 } },
        required: ["n"],
        additionalProperties: false,
      };
      const answer = await structured(world.connection(), ask, schema);
      assert.deepEqual(answer, { n: traits.losesBounds ? 0 : 7 });
      return traits.losesBounds && "its schemas have no bounds";
    },
  },
  {
    name: "a stream that is left is cancelled",
    column: "cancel",
    check: async ({ client, traits, world }) => {
      if (client.cancel === undefined) return "it reads every stream to its end";
      const [tokens, outcome] = traits.runsOn ? [60, "ok"] : [100_000, "client_closed"];
      const ask = { model: "tiny-3b", prompt: makeScriptPrompt({ tokens, delta_ms: 20 }), maxTokens: 5_000 };
      const before = await world.requests(outcome);
      await client.cancel(world.connection(), ask);
      await world.untilRequests(outcome, before + 1);
      return traits.runsOn && "a stream that is left runs on to its end, and is paid for";
    },
  },
];
