/**
 * Tests whether a model's answers end correctly at a stop string: all text before the string is returned, and neither
 * the string nor later text. The string is taken from the model's own answer, across two of its pieces, where mistakes
 * are most likely.
 */
import type { Clock } from "../clock.ts";
import type { Engine, FinishReason, GenerationJob, OutputSink } from "./engine.ts";

const QUESTION = "Count from one to twenty in words, separated by commas.";
const TOKENS_MAX = 48;
const STOP_CHARS = 4;
const CHECK_MS_MAX = 60_000;

/** `unknown`: the answer is too short, or differs each time. */
type StopVerdict = "stops" | "differs" | "unknown";

/** Rejects with EngineError if the engine does not answer. */
export async function checkStopStrings(
  engine: Pick<Engine, "generate">,
  model: string,
  clock: Clock,
): Promise<StopVerdict> {
  const limit = new AbortController();
  const cancelTimer = clock.after(CHECK_MS_MAX, () => limit.abort());
  try {
    const whole = await answerOf(engine, model, undefined, limit.signal);
    const stop = acrossPieces(whole.pieces);
    if (stop === undefined) return "unknown";
    const cut = await answerOf(engine, model, stop, limit.signal);
    const again = await answerOf(engine, model, undefined, limit.signal);
    if (limit.signal.aborted || again.text !== whole.text) return "unknown";
    const expected = whole.text.slice(0, whole.text.indexOf(stop));
    return cut.text === expected && cut.finish === "stop" ? "stops" : "differs";
  } finally {
    cancelTimer();
  }
}

interface Said {
  text: string;
  pieces: string[];
  finish: FinishReason;
}

async function answerOf(
  engine: Pick<Engine, "generate">,
  model: string,
  stop: string | undefined,
  signal: AbortSignal,
): Promise<Said> {
  const pieces: string[] = [];
  const sink: OutputSink = {
    delta(channel, text) {
      if (channel === "answer") pieces.push(text);
    },
    progress: () => {},
  };
  const { finish } = await engine.generate(jobWith(model, stop), sink, signal);
  return { text: pieces.join(""), pieces, finish };
}

function jobWith(model: string, stop: string | undefined): GenerationJob {
  return {
    id: "stop-check",
    attempt: 1,
    model,
    endpoint: "chat",
    input: { messages: [{ role: "user", content: QUESTION }] },
    sampling: { temperature: 0, seed: 1, ...(stop === undefined ? {} : { stop: [stop] }) },
    outputTokensMax: TOKENS_MAX,
  };
}

/** Returns a few characters across the border of two pieces, not at the very beginning. */
function acrossPieces(pieces: readonly string[]): string | undefined {
  const text = pieces.join("");
  let border = 0;
  for (const piece of pieces.slice(0, -1)) {
    border += piece.length;
    const stop = text.slice(border - STOP_CHARS / 2, border + STOP_CHARS / 2);
    if (border >= text.length / 3 && stop.length === STOP_CHARS && stop.isWellFormed()) return stop;
  }
  return undefined;
}
