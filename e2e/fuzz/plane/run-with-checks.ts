/** A complete fuzzing run: quiet traffic first, then hostile frames, and all checks at the end. */
import type { MemoryUse } from "../gateway-memory.ts";
import { type CampaignCounts, createEmptyTally, learnTokenCounts, runPlaneCampaign } from "./plane-fuzz-campaign.ts";
import type { PlaneFuzzPlatform } from "./plane-fuzz-platform.ts";
import type { TextWithKnownTokenCount } from "./plane-fuzz-requests.ts";

/**
 * The maximum growth of memory in the second half of a long run: of resident memory, and of live objects and buffers.
 */
const RESIDENT_GROWTH_MB_MAX = 64;
const LIVE_GROWTH_MB_MAX = 16;
const LONG_RUN = 100_000;
const TELL_EVERY = 25_000;

interface WholeRun {
  tally: CampaignCounts;
  frames: number;
  half: MemoryUse;
  end: MemoryUse;
  logBytes: number;
  logBytesBefore: number;
}

interface RunOptions {
  frames: number;
  seed: number;
  tell?: (frames: number, memory: MemoryUse) => void;
  /** Called before the hostile nodes join and after each half of the frames, before garbage is collected. */
  between?: (known: TextWithKnownTokenCount[]) => Promise<void>;
}

export async function runCampaign(fuzzed: PlaneFuzzPlatform, options: RunOptions): Promise<WholeRun> {
  const { frames, seed, tell, between } = options;
  const { target, nodes, probe } = fuzzed;
  const known = await learnTokenCounts(seed, target);
  await between?.(known);
  const logBytesBefore = await fuzzed.logBytes();
  const tally = createEmptyTally();
  let told = 0;
  const onProgress = (sent: number): void => {
    if (tell === undefined || sent - told < TELL_EVERY) return;
    told = sent;
    void probe.now().then((memory) => tell(sent, memory));
  };
  const part = async (from: number, to: number): Promise<MemoryUse> => {
    await runPlaneCampaign({ seed, from, to, target, nodes, known, onProgress }, tally);
    await between?.(known);
    return await probe.settled();
  };
  const half = await part(0, Math.floor(frames / 2));
  const end = await part(Math.floor(frames / 2), frames);
  const logBytes = (await fuzzed.logBytes()) - logBytesBefore;
  return { tally, frames, half, end, logBytes, logBytesBefore };
}

/** Runs all checks, and returns every mistake that they found. */
export async function findViolations(fuzzed: PlaneFuzzPlatform, run: WholeRun): Promise<string[]> {
  const { tally, frames, half, end, logBytesBefore } = run;
  const wrong: string[] = [];
  if (tally.frames !== frames) wrong.push(`${tally.frames} of ${frames} frames were sent`);
  if (frames >= LONG_RUN) wrong.push(...growth(half, end));
  await fuzzed.assertUnharmed(tally, logBytesBefore).catch((error: Error) => wrong.push(error.message));
  return wrong;
}

function growth(half: MemoryUse, end: MemoryUse): string[] {
  const residentMb = end.residentMb - half.residentMb;
  const liveMb = end.heapMb + end.externalMb - half.heapMb - half.externalMb;
  return [
    ...(residentMb > RESIDENT_GROWTH_MB_MAX ? [`resident memory grew by ${residentMb} MB`] : []),
    ...(liveMb > LIVE_GROWTH_MB_MAX ? [`live objects and buffers grew by ${liveMb} MB`] : []),
  ];
}
