/**
 * Parses the script of the scripted engine: `#script {…}` as the last user message or as the prompt. Without a script,
 * the answer is generated prose.
 */
import { z } from "zod";
import { EngineError, type GenerationJob } from "./engine.ts";
import { generateProse, generateShortProse } from "./generated-text-and-vectors.ts";
import { makeJsonPieces } from "./scripted-json.ts";

const MARK = "#script ";
const TEXT_CHARS_MAX = 1_000_000;
const TOKENS_MAX = 1_000_000;
const PAUSE_MS_MAX = 600_000;

const Count = z.int().min(0).max(TOKENS_MAX);
const Pause = z.number().min(0).max(PAUSE_MS_MAX);
const Text = z.string().max(TEXT_CHARS_MAX);

const Script = z.strictObject({
  text: Text.optional(),
  tokens: Count.default(100),
  reasoning: Text.default(""),
  ttft_ms: Pause.default(0),
  delta_ms: Pause.default(0),
  fail_after: Count.optional(),
  stall_after: Count.optional(),
  drop_after: Count.optional(),
  garbage_after: Count.optional(),
  only_attempt: z.int().min(1).max(99).optional(),
  busy: z.boolean().default(false),
  empty: z.boolean().default(false),
  overrun: z.boolean().default(false),
  ignore_stop: z.boolean().default(false),
  claim_tokens: z.int().min(0).optional(),
  garbage: z.boolean().default(false),
});
type Script = z.infer<typeof Script>;

/** A fault, and the number of deltas before it. */
interface Fault {
  kind: "fail" | "stall" | "drop" | "garbage";
  after: number;
}

/** The engine's planned behavior for one job. */
export interface ScriptedAnswerPlan {
  reasoning: Iterable<string>;
  answer: Iterable<string>;
  ttftMs: number;
  deltaMs: number;
  busy: boolean;
  /** If true, the engine sends no output and ends the job. */
  empty: boolean;
  overrun: boolean;
  ignoreStop: boolean;
  garbage: boolean;
  claimTokens: number | undefined;
  faults: Fault[];
}

export function planScriptedAnswer(job: GenerationJob): ScriptedAnswerPlan {
  const key = `${job.sampling.seed ?? ""}\0${JSON.stringify(job.input)}`;
  const script = scriptOf(job);
  const formed = job.format && makeJsonPieces(job.format, [...generateShortProse(key)].join(""));
  if (script === undefined)
    return { ...wellBehaved, reasoning: [], answer: formed ?? generateShortProse(key), ttftMs: 0, deltaMs: 0 };
  // The text given in a script is sent unchanged, even if it violates the requested format.
  const answer =
    script.text === undefined ? (formed ?? take(generateProse(key), script.tokens)) : splitIntoWords(script.text);
  const faults = (script.only_attempt ?? job.attempt) === job.attempt ? faultsOf(script) : wellBehaved;
  return {
    ...faults,
    reasoning: splitIntoWords(script.reasoning),
    answer,
    ttftMs: script.ttft_ms,
    deltaMs: script.delta_ms,
  };
}

const wellBehaved = {
  busy: false,
  empty: false,
  overrun: false,
  ignoreStop: false,
  garbage: false,
  claimTokens: undefined,
  faults: [],
};

function faultsOf(script: Script): Omit<ScriptedAnswerPlan, "reasoning" | "answer" | "ttftMs" | "deltaMs"> {
  const faults: Fault[] = [];
  if (script.fail_after !== undefined) faults.push({ kind: "fail", after: script.fail_after });
  if (script.stall_after !== undefined) faults.push({ kind: "stall", after: script.stall_after });
  if (script.drop_after !== undefined) faults.push({ kind: "drop", after: script.drop_after });
  if (script.garbage_after !== undefined) faults.push({ kind: "garbage", after: script.garbage_after });
  const { busy, empty, overrun, ignore_stop: ignoreStop, garbage, claim_tokens: claimTokens } = script;
  return { busy, empty, overrun, ignoreStop, garbage, claimTokens, faults };
}

function scriptOf(job: GenerationJob): Script | undefined {
  const prompt =
    "prompt" in job.input
      ? job.input.prompt
      : (job.input.messages.findLast((message) => message.role === "user")?.content ?? "");
  if (!prompt.startsWith(MARK)) return undefined;
  // A script is part of the prompt, so an error names the field but quotes nothing.
  let json: unknown;
  try {
    json = JSON.parse(prompt.slice(MARK.length));
  } catch {
    throw new EngineError("prompt", "the script in the prompt is not a single JSON object");
  }
  const result = Script.safeParse(json);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  if (issue?.code === "unrecognized_keys")
    throw new EngineError("prompt", "the script in the prompt has an unknown key");
  throw new EngineError("prompt", `the script in the prompt is malformed at ${issue?.path.join(".") || "its root"}`);
}

function* take(units: Iterable<string>, count: number): Generator<string> {
  if (count === 0) return;
  let left = count;
  for (const unit of units) {
    yield unit;
    if (--left === 0) return;
  }
}

/** Splits a text into words with their leading spaces. Joined, they are the text again. */
export function splitIntoWords(text: string): string[] {
  const words = text.match(/\s*\S+(?:\s+$)?/g);
  if (words !== null) return words;
  return text === "" ? [] : [text];
}
