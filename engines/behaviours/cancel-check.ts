/**
 * Checks that an engine stops generating when its client disconnects: by the engine's own count of running requests, or
 * else by its processor time. The check only counts if the whole answer would have taken much longer.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@tollgate/stage/wait.ts";
import { type CheckOutcome, expectTrue, okOutcome, unsupportedOutcome } from "../outcome.ts";
import { measureCpuSeconds } from "../servers/process-session.ts";
import type { Stage } from "../stage/stage.ts";
import { QUESTION } from "./answer-checks.ts";

const LOOK_MS = 1_000;
const ENDED = "ended by itself";
/** The engine counts as idle below this share of the processor time that it uses for an answer. */
const STILL = 0.2;
/**
 * The engine counts as stopped if, after the disconnect, it worked for less than this share of the time that the rest
 * of the answer needed.
 */
const STOPPED = 0.5;

export async function checkCancel(stage: Stage): Promise<CheckOutcome> {
  // Measures three times and uses the minimum, because earlier requests may take a moment to end.
  const idle = Math.min(await useOf(stage), await useOf(stage), await useOf(stage));
  const tokens = (stage.engine.contextTokens ?? 8192) - 300;
  const gone = new AbortController();
  let pieces = 0;
  let begunMs = 0;
  const onPiece = (): void => {
    pieces++;
    begunMs ||= performance.now();
  };
  const request = stage.builder
    .streamChat(QUESTION, { temperature: 1, max_tokens: tokens }, { signal: gone.signal, onPiece })
    .then(
      () => ENDED,
      (error: Error) => (error.name === "AbortError" ? "cancelled" : error.message),
    );
  await Promise.race([request, eventually("the stream begins", () => pieces > 3)]);
  const working = await useOf(stage);
  const leftMs = ((tokens - pieces) / pieces) * (performance.now() - begunMs);
  gone.abort();
  const how = await request;
  if (stage.engine.endsItself && how === ENDED) return unsupportedOutcome("its answers are over before");
  expectTrue(how === "cancelled", how);
  expectTrue(working > idle, `the engine was not seen to work (${working} against ${idle} when idle)`);
  const cancelledMs = performance.now();
  const stopped = async (): Promise<boolean> => (await useOf(stage)) <= idle + STILL * (working - idle);
  await eventually(`the engine stops (idle ${idle.toFixed(2)}, working ${working.toFixed(2)})`, stopped);
  const tookMs = performance.now() - cancelledMs;
  const [took, left] = [tookMs, leftMs].map((ms) => (ms / 1000).toFixed(1));
  expectTrue(
    tookMs < STOPPED * leftMs,
    `the engine stopped after ${took} s; the answer needed another ${left} s anyway`,
  );
  return okOutcome(`within ${Math.ceil(tookMs / 1000)} s`);
}

/**
 * Returns the number of requests that the engine runs or, if it does not report that, the number of processors that it
 * uses.
 */
async function useOf({ engine, url, engineSession }: Stage): Promise<number> {
  if (engine.running !== undefined) return engine.running(url);
  const [before, beganMs] = [measureCpuSeconds(engineSession()), performance.now()];
  await sleep(LOOK_MS);
  return (measureCpuSeconds(engineSession()) - before) / ((performance.now() - beganMs) / 1000);
}
