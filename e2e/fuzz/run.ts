/**
 * `node e2e/fuzz/run.ts [--requests N] [--seed N] [--only INDEX] [--concurrency N]`: a fuzzing run of any length. Exits
 * with 1 on any finding. A finding's seed and index generate the same request again.
 */
import { parseArgs } from "node:util";
import { createEmptyTally, formatFinding, formatTally, runCampaign } from "./fuzz-campaign.ts";
import { assertPlatformUnharmed, type FuzzPlatform, openFuzzPlatform } from "./fuzz-platform.ts";
import { formatMemory, INSPECTOR_OPTION, MemoryProbe, type MemoryUse } from "./gateway-memory.ts";
import { generateFuzzCase } from "./generate-fuzz-case.ts";
import { KeepAliveSender } from "./keep-alive-sender.ts";
import { formatAnswer, formatFuzzCase, sendAndJudge } from "./send-and-judge.ts";

const FINDINGS_SHOWN_MAX = 20;
const PROGRESS_EVERY = 2_500;
/**
 * The maximum growth of memory in the second half of a long run: of resident memory, and of live objects and buffers.
 */
const RESIDENT_GROWTH_MB_MAX = 64;
const LIVE_GROWTH_MB_MAX = 16;
const LONG_RUN = 20_000;

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "100000" },
    seed: { type: "string", default: process.env["TEST_SEED"] ?? String(Math.floor(Math.random() * 2 ** 31)) },
    only: { type: "string" },
    concurrency: { type: "string", default: "16" },
  },
});

function whole(name: "requests" | "seed" | "only" | "concurrency"): number {
  const value = Number(values[name]);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`--${name} must be a whole number of 0 or more`);
  return value;
}

const seed = whole("seed");
console.log(`seed ${seed}`);
const fuzzed = await openFuzzPlatform(undefined, { NODE_OPTIONS: INSPECTOR_OPTION });
let failed = false;
try {
  failed = values.only === undefined ? await runAll(fuzzed) : await runOne(fuzzed, whole("only"));
} finally {
  await fuzzed.close();
}
process.exit(failed ? 1 : 0);

async function runOne({ target }: FuzzPlatform, index: number): Promise<boolean> {
  const agent = new KeepAliveSender(target, 1);
  const shot = generateFuzzCase(seed, index);
  console.log(`${shot.kind}\n${formatFuzzCase(shot)}`);
  const hit = await sendAndJudge(shot, target, agent);
  agent.close();
  for (const answer of hit.answers) console.log(`---\n${formatAnswer(answer)}`);
  if (hit.mistakes.length > 0) console.log(formatFinding({ seed, index, shot, hit }));
  return hit.mistakes.length > 0;
}

async function runAll({ stage, target }: FuzzPlatform): Promise<boolean> {
  const requests = whole("requests");
  const tally = createEmptyTally();
  const probe = await MemoryProbe.open(await stage.gateway.log());
  const seconds = (): string => `${Math.round(process.uptime())} s`;
  const fireAll = (from: number, to: number): Promise<void> =>
    runCampaign(
      {
        target,
        seed,
        from,
        to,
        concurrency: whole("concurrency"),
        onFinding: ({ text }) => {
          if (tally.findings.length <= FINDINGS_SHOWN_MAX) console.log(text);
        },
        onProgress: (done) => {
          if (done % PROGRESS_EVERY === 0) void tellProgress(done);
        },
      },
      tally,
    );
  const tellProgress = async (done: number): Promise<void> => {
    const memory = formatMemory(await probe.now());
    console.log(`${done} of ${requests}, ${seconds()}, ${memory}, ${tally.findings.length} findings`);
  };

  const half = Math.floor(requests / 2);
  await fireAll(0, half);
  const before = await probe.settled();
  await fireAll(half, requests);
  const after = await probe.settled();
  probe.close();
  console.log(`\n${formatTally(tally)}\n`);
  console.log(`seed ${seed}: ${requests} requests in ${seconds()}, ${tally.served} of them served`);
  console.log(`memory, garbage collected, at half: ${formatMemory(before)}; at the end: ${formatMemory(after)}`);
  const wrong = tally.findings.length > 0 ? [`${tally.findings.length} findings`] : [];
  if (requests >= LONG_RUN) wrong.push(...growth(before, after));
  await assertPlatformUnharmed(stage, tally.served).catch((error: Error) => wrong.push(error.message));
  console.log(wrong.length === 0 ? "no finding; the platform is unharmed" : `FAILED: ${wrong.join("; ")}`);
  return wrong.length > 0;
}

function growth(before: MemoryUse, after: MemoryUse): string[] {
  const residentMb = after.residentMb - before.residentMb;
  const liveMb = after.heapMb + after.externalMb - before.heapMb - before.externalMb;
  return [
    ...(residentMb > RESIDENT_GROWTH_MB_MAX ? [`resident memory grew by ${residentMb} MB`] : []),
    ...(liveMb > LIVE_GROWTH_MB_MAX ? [`live objects and buffers grew by ${liveMb} MB`] : []),
  ];
}
