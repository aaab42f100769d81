/**
 * Sends the frames of `npm run fuzz:plane` (invalid messages of nodes) and measures for how long each read from a node
 * occupies the gateway's event loop.
 */

import { openPlaneFuzzPlatform } from "../../e2e/fuzz/plane/plane-fuzz-platform.ts";
import { sendChatRequest, type TextWithKnownTokenCount } from "../../e2e/fuzz/plane/plane-fuzz-requests.ts";
import { findViolations, runCampaign } from "../../e2e/fuzz/plane/run-with-checks.ts";
import { type LoopDelays, LoopMeter, NODE_READ_TIMER_URL } from "./loop-meter.ts";

const QUIET_REQUESTS = 300;
/** The targets for one read from a node and one turn of the event loop, in ms of the main thread's processor time. */
const AIM = { readMs: 50, turnMs: 250 };

export async function measureFrames(frames: number): Promise<void> {
  const seed = Math.floor(Math.random() * 2 ** 31);
  console.log(`seed ${seed}`);
  const fuzzed = await openPlaneFuzzPlatform({ load: [NODE_READ_TIMER_URL] });
  try {
    const loop = await LoopMeter.install(fuzzed.probe);
    const seen: LoopDelays[] = [];
    // The first call comes before the hostile nodes join. It measures honest requests alone, to compare the other
    // figures with.
    const between = async (known: TextWithKnownTokenCount[]): Promise<void> => {
      if (seen.length === 0) {
        await loop.read();
        await quietTraffic(fuzzed.target, known);
      }
      seen.push(await loop.read());
    };
    const run = await runCampaign(fuzzed, { frames, seed, between });
    const [quiet, ...hostile] = seen;
    for (const figure of ["readMs", "turnMs"] as const) {
      const worst = Math.max(...hostile.map((use) => use[figure]));
      const name = figure === "readMs" ? "longest handling of one read of a node" : "longest turn of the loop";
      console.log(
        `${name}: ${quiet?.[figure].toFixed(0)} ms quiet, ${worst.toFixed(0)} ms with hostile nodes, aim ${AIM[figure]}`,
      );
    }
    const wrong = await findViolations(fuzzed, run);
    if (wrong.length > 0) throw new Error(wrong.join("\n"));
  } finally {
    await fuzzed.close();
  }
}

async function quietTraffic(
  target: Parameters<typeof sendChatRequest>[0],
  known: TextWithKnownTokenCount[],
): Promise<void> {
  let left = QUIET_REQUESTS;
  const client = async (): Promise<void> => {
    while (left-- > 0) await sendChatRequest(target, (known[left % known.length] as TextWithKnownTokenCount).body);
  };
  await Promise.all(Array.from({ length: 8 }, client));
}
