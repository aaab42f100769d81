/** Measures the engine's speed with a short job per model, without the gateway. */

import { type CheckResult, failedCheck, passedCheck, warningCheck } from "@tollgate/terminal/check-results.ts";
import { type Clock, sleep } from "../../clock.ts";
import { type Engine, EngineError, type OutputSink } from "../../engines/engine.ts";
import { formatMilliseconds, formatPerSecond } from "../format-values.ts";

const TEST_MS_MAX = 60_000;
const TEST_TOKENS = 64;
const QUESTION = "Explain in about fifty words why the sky is blue.";
/** The job never leaves this machine, so its ID only needs the right format. */
const JOB = { id: `${"0".repeat(26)}-01`, attempt: 1 };

/** The gateway assumes a stall after two seconds without output. */
const FIRST_MS_LATE = 2_000;
const TOKENS_PER_SECOND_SLOW = 5;
const CHARS_PER_TOKEN = 4;

const ENGINE_TROUBLE = "check the engine's log: is it running, and can it load this model?";

export async function checkSpeed(engine: Engine, model: string, kind: "generation" | "embedding", clock: Clock) {
  const limit = new AbortController();
  const done = new AbortController();
  void sleep(clock, TEST_MS_MAX, done.signal).then(() => limit.abort());
  try {
    const test = kind === "generation" ? generationSpeed : embeddingSpeed;
    const check = await test(engine, model, clock, limit.signal);
    if (!done.signal.aborted && limit.signal.aborted)
      return failedCheck(
        "speed",
        `${model}: no complete answer within ${formatMilliseconds(TEST_MS_MAX)}`,
        ENGINE_TROUBLE,
      );
    return check;
  } catch (error) {
    const reason = error instanceof EngineError ? error.message : "the engine failed";
    return failedCheck("speed", `${model}: ${reason}`, ENGINE_TROUBLE);
  } finally {
    done.abort();
  }
}

async function generationSpeed(engine: Engine, model: string, clock: Clock, signal: AbortSignal): Promise<CheckResult> {
  const started = clock.monotonic();
  let firstAt: number | undefined;
  let text = "";
  const sink: OutputSink = {
    delta(_channel, more) {
      firstAt ??= clock.monotonic();
      text += more;
    },
    progress() {},
  };
  const messages = [{ role: "user", content: QUESTION }];
  const job = { ...JOB, model, endpoint: "chat" as const, input: { messages }, sampling: {} };
  await engine.generate({ ...job, outputTokensMax: TEST_TOKENS }, sink, signal);
  if (firstAt === undefined) return failedCheck("speed", `${model}: the engine returned no text`, ENGINE_TROUBLE);
  const tokens = (await engine.tokens?.(model, text))?.length ?? text.length / CHARS_PER_TOKEN;
  const rate = tokens / (Math.max(1, clock.monotonic() - firstAt) / 1000);
  return judged(model, firstAt - started, rate);
}

function judged(model: string, firstMs: number, rate: number): CheckResult {
  const detail = `${model}: first token after ${formatMilliseconds(firstMs)}, about ${formatPerSecond(rate)}`;
  if (firstMs > FIRST_MS_LATE)
    return warningCheck("speed", detail, "keep the model loaded and test again: the first request may have loaded it");
  if (rate < TOKENS_PER_SECOND_SLOW)
    return warningCheck(
      "speed",
      detail,
      "builders wait long for an answer: choose a smaller model with tollgate-host elect, or use a faster machine",
    );
  return passedCheck("speed", detail);
}

async function embeddingSpeed(engine: Engine, model: string, clock: Clock, signal: AbortSignal): Promise<CheckResult> {
  const started = clock.monotonic();
  const job = { ...JOB, model, endpoint: "embedding" as const, input: [QUESTION] };
  let width: number | undefined;
  for await (const vector of engine.embed(job, { progress() {} }, signal)) width = vector.length;
  if (width === undefined) return failedCheck("speed", `${model}: the engine returned no vector`, ENGINE_TROUBLE);
  return passedCheck(
    "speed",
    `${model}: a vector of ${width} numbers took ${formatMilliseconds(clock.monotonic() - started)}`,
  );
}
