/**
 * Brings a target to its cruising speed, and shows that it answers at all. How warm a program is depends on the work it
 * did, so the measure is its own processor time; a starved one would be met cold after any number of seconds.
 */
import { type Bench, measure } from "./measure.ts";
import { SCENARIOS, type Scenario } from "./scenarios.ts";
import { type Target, Unavailable } from "./targets/target.ts";

const WALL_MS_MAX = 60_000;

const CHATS: Scenario = { ...SCENARIOS["chat-c64"], concurrent: 32, seconds: 1 };
const STREAMS: Scenario = { ...SCENARIOS["streams-unpaced"], concurrent: 20, total: 60, secondsMax: 20 };

/** Returns the processor time it took, in seconds. */
export async function warmUp(bench: Bench, target: Target, cpuSeconds: number): Promise<number> {
  const until = performance.now() + WALL_MS_MAX;
  let spentUs = 0;
  do {
    for (const scenario of target.wholeAnswersOnly ? [CHATS] : [CHATS, STREAMS]) {
      const row = await measure(bench, target, { name: "warm-up", scenario, repeat: 0 });
      spentUs += row.cpuUs.gateway ?? 0;
      if (row.ok === 0) throw new Unavailable(`it gives no good answers: ${JSON.stringify(row.errors)}`);
    }
  } while (target.parts.gateway !== undefined && spentUs < cpuSeconds * 1e6 && performance.now() < until);
  return spentUs / 1e6;
}
