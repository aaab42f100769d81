/**
 * Tests whether an engine enforces an output format. The prompt asks for one answer, and the format allows only a
 * different one. An engine that ignores the format follows the prompt.
 */

import { isDeepStrictEqual } from "node:util";
import type { OutputFormat } from "@tollgate/protocol/frames.ts";
import type { Clock } from "../clock.ts";
import { parseJson } from "../read-response-body.ts";
import { type Engine, EngineError, type GenerationJob, type OutputSink } from "./engine.ts";
import { THINKING_MODELS } from "./model-names.ts";

/** The only value that the test's format allows. No model writes it by itself. */
const ONLY = { word: "quetzal-4417" };
const FORMAT: OutputFormat = {
  type: "json_schema",
  name: "word",
  strict: true,
  schema: {
    type: "object",
    properties: { word: { type: "string", enum: [ONLY.word] } },
    required: ["word"],
    additionalProperties: false,
  },
};
const QUESTION = "Greet me in one short sentence.";
/** Enough tokens for the value and some white space. */
const TOKENS_MAX = 64;
/** Enough tokens for thinking before the value. */
const THINKING_TOKENS_MAX = 2_048;
/** The engine may have to load the model first. */
const CHECK_MS_MAX = 120_000;

type Generate = (job: GenerationJob, sink: OutputSink, signal: AbortSignal) => ReturnType<Engine["generate"]>;

/** Returns undefined if the engine does not answer. */
export async function engineEnforcesFormat(engine: Engine, model: string): Promise<boolean | undefined> {
  try {
    return (await engine.keepsFormat?.(model)) ?? false;
  } catch (error) {
    if (error instanceof EngineError) return undefined;
    throw error;
  }
}

/** Rejects with EngineError if the engine does not answer. */
export async function testFormatEnforcement(generate: Generate, model: string, clock: Clock): Promise<boolean> {
  const limit = new AbortController();
  const cancelTimer = clock.after(CHECK_MS_MAX, () => limit.abort());
  let answer = "";
  const sink: OutputSink = {
    delta(channel, text) {
      if (channel === "answer") answer += text;
    },
    progress: () => {},
  };
  try {
    await generate(checkJob(model), sink, limit.signal);
  } catch (error) {
    // The engine refuses the test's format, so it does not enforce formats.
    if (error instanceof EngineError && error.blame === "prompt") return false;
    throw error;
  } finally {
    cancelTimer();
  }
  if (limit.signal.aborted) throw new EngineError("engine", "the engine did not respond in time");
  return isDeepStrictEqual(parseJson(withoutThinking(answer)), ONLY);
}

function checkJob(model: string): GenerationJob {
  return {
    id: "format-check",
    attempt: 1,
    model,
    endpoint: "chat",
    input: { messages: [{ role: "user", content: QUESTION }] },
    sampling: { temperature: 0 },
    outputTokensMax: THINKING_MODELS.includes(model) ? THINKING_TOKENS_MAX : TOKENS_MAX,
    format: FORMAT,
  };
}

/** Removes the thinking that some engines leave in the text. For builders' requests, the gateway separates it. */
const withoutThinking = (text: string): string => text.replace(/^\s*<think>[\s\S]*?<\/think>/, "");
