/** A run from its quiet beginning to its verdict. */
import type { Memory } from "../memory.ts";
import { campaign, emptyTally, learnTexts, type Tally } from "./campaign.ts";
import { ask, type Known } from "./clients.ts";
import type { LoopUse } from "./loop-meter.ts";
import type { PlanePlatform } from "./plane-platform.ts";

/** What is read of a node may keep the loop busy for so long, and a whole turn of it, with all that came at once, for so long. */
const READ_MS_MAX = 50;
const TURN_MS_MAX = 250;
/** Of a run long enough to tell: the second half may not add more than this, resident and in live objects and buffers. */
const RESIDENT_GROWTH_MB_MAX = 64;
const LIVE_GROWTH_MB_MAX = 16;
const LONG_RUN = 100_000;
const QUIET_REQUESTS = 300;
const TELL_EVERY = 25_000;

interface WholeRun {
  tally: Tally;
  frames: number;
  /** Before there were hostile nodes, and with them. */
  quiet: LoopUse;
  worst: LoopUse;
  half: Memory;
  end: Memory;
  logBytes: number;
  logBytesBefore: number;
}

interface RunOptions {
  frames: number;
  seed: number;
  tell?: (frames: number, memory: Memory) => void;
}

export async function runCampaign(fuzzed: PlanePlatform, { frames, seed, tell }: RunOptions): Promise<WholeRun> {
  const { target, nodes, probe, loop } = fuzzed;
  const known = await learnTexts(seed, target);
  await loop.read();
  await quietTraffic(fuzzed, known);
  const quiet = await loop.read();
  const logBytesBefore = await fuzzed.logBytes();
  const tally = emptyTally();
  let told = 0;
  const worst: LoopUse = { turnMs: 0, readMs: 0 };
  const onProgress = (sent: number): void => {
    if (tell === undefined || sent - told < TELL_EVERY) return;
    told = sent;
    void probe.now().then((memory) => tell(sent, memory));
  };
  const part = async (from: number, to: number): Promise<Memory> => {
    await campaign({ seed, from, to, target, nodes, known, onProgress }, tally);
    const { turnMs, readMs } = await loop.read();
    worst.turnMs = Math.max(worst.turnMs, turnMs);
    worst.readMs = Math.max(worst.readMs, readMs);
    const memory = await probe.settled();
    // The collection that was asked for is no turn of the gateway's own.
    await loop.read();
    return memory;
  };
  const half = await part(0, Math.floor(frames / 2));
  const end = await part(Math.floor(frames / 2), frames);
  const logBytes = (await fuzzed.logBytes()) - logBytesBefore;
  return { tally, frames, quiet, worst, half, end, logBytes, logBytesBefore };
}

async function quietTraffic({ target }: PlanePlatform, known: Known[]): Promise<void> {
  let left = QUIET_REQUESTS;
  const client = async (): Promise<void> => {
    while (left-- > 0) await ask(target, (known[left % known.length] as Known).body);
  };
  await Promise.all(Array.from({ length: 8 }, client));
}

/** Everything that is wrong with a run. */
export async function judged(fuzzed: PlanePlatform, run: WholeRun): Promise<string[]> {
  const { tally, frames, half, end, worst, logBytesBefore } = run;
  const wrong: string[] = [];
  if (worst.readMs > READ_MS_MAX) wrong.push(`what was read of a node kept the loop busy for ${worst.readMs} ms`);
  if (worst.turnMs > TURN_MS_MAX) wrong.push(`a turn of the loop took ${worst.turnMs} ms`);
  if (tally.frames !== frames) wrong.push(`${tally.frames} of ${frames} frames were sent`);
  if (frames >= LONG_RUN) wrong.push(...growth(half, end));
  await fuzzed.assertUnharmed(tally, logBytesBefore).catch((error: Error) => wrong.push(error.message));
  return wrong;
}

function growth(half: Memory, end: Memory): string[] {
  const residentMb = end.residentMb - half.residentMb;
  const liveMb = end.heapMb + end.externalMb - half.heapMb - half.externalMb;
  return [
    ...(residentMb > RESIDENT_GROWTH_MB_MAX ? [`resident memory grew by ${residentMb} MB`] : []),
    ...(liveMb > LIVE_GROWTH_MB_MAX ? [`live objects and buffers grew by ${liveMb} MB`] : []),
  ];
}
