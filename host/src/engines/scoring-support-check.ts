/** Tests with a short answer whether an engine can score an answer that it did not write. */
import type { ScoringKind } from "@tollgate/protocol/frames.ts";
import type { Clock } from "../clock.ts";
import { type Engine, EngineError, type ScoringJob } from "./engine.ts";
import { EMBEDDING_MODELS } from "./model-names.ts";

const ANSWER = "The sky is blue because the air scatters short waves of light more than long ones.";
const CUTS = [0, 7, 27, 43];
/** The engine may have to load the model first. */
const CHECK_MS_MAX = 120_000;

/**
 * The way in which the engine scores. Undefined if it cannot. Rejects with EngineError if the engine does not answer.
 */
export async function checkScoringSupport(
  kind: ScoringKind,
  score: NonNullable<Engine["score"]>,
  { model, clock }: { model: string; clock: Clock },
): Promise<ScoringKind | undefined> {
  if (EMBEDDING_MODELS.includes(model)) return undefined;
  const limit = new AbortController();
  const cancelTimer = clock.after(CHECK_MS_MAX, () => limit.abort());
  try {
    const logprobs = await score(checkJob(model), { progress: () => {} }, limit.signal);
    if (limit.signal.aborted) throw new EngineError("engine", "the engine did not respond in time");
    const isEnough = kind === "next" ? logprobs.length === CUTS.length : logprobs.length >= CUTS.length;
    // An engine that ignores the request for scores returns none, or the same value for every token.
    return isEnough && new Set(logprobs).size > 1 ? kind : undefined;
  } catch (error) {
    // The engine knows the request but refuses it, so it cannot score.
    if (error instanceof EngineError && error.blame === "prompt") return undefined;
    throw error;
  } finally {
    cancelTimer();
  }
}

function checkJob(model: string): ScoringJob {
  return {
    id: "score-check",
    attempt: 1,
    model,
    endpoint: "chat",
    input: { messages: [{ role: "user", content: "Why is the sky blue?" }] },
    sampling: { temperature: 0 },
    outputTokensMax: 1,
    score: { answer: ANSWER, cuts: CUTS },
  };
}
