/**
 * `node e2e/fuzz/plane/run.ts [--frames N] [--seed N]`: a fuzzing run of any length. Exits with 1 on any finding. The
 * same seed makes the same frames, but their jobs depend on when the gateway offers jobs.
 */
import { parseArgs } from "node:util";
import { formatMemory, type MemoryUse } from "../gateway-memory.ts";
import { formatPlaneTally } from "./plane-fuzz-campaign.ts";
import { openPlaneFuzzPlatform } from "./plane-fuzz-platform.ts";
import { findViolations, runCampaign } from "./run-with-checks.ts";

const { values } = parseArgs({
  options: {
    frames: { type: "string", default: "1000000" },
    seed: { type: "string", default: process.env["TEST_SEED"] ?? String(Math.floor(Math.random() * 2 ** 31)) },
  },
});

function whole(name: "frames" | "seed"): number {
  const value = Number(values[name]);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`--${name} must be a whole number of 0 or more`);
  return value;
}

const [frames, seed] = [whole("frames"), whole("seed")];
console.log(`seed ${seed}`);
const fuzzed = await openPlaneFuzzPlatform();
let wrong: string[] = [];
try {
  const seconds = (): string => `${Math.round(process.uptime())} s`;
  const tell = (sent: number, memory: MemoryUse): void =>
    console.log(`${sent} of ${frames}, ${seconds()}, ${formatMemory(memory)}`);
  const run = await runCampaign(fuzzed, { frames, seed, tell });
  console.log(`\n${formatPlaneTally(run.tally)}\n`);
  const reconnects = fuzzed.nodes.reduce((sum, { connects }) => sum + connects, 0);
  console.log(`seed ${seed}: ${run.tally.frames} frames in ${seconds()}, over ${reconnects} connections`);
  console.log(`memory, garbage collected, at half: ${formatMemory(run.half)}; at the end: ${formatMemory(run.end)}`);
  console.log(`the log grew by ${run.logBytes} bytes`);
  wrong = await findViolations(fuzzed, run);
} finally {
  await fuzzed.close();
}
console.log(wrong.length === 0 ? "no finding; the platform is unharmed" : `FAILED:\n${wrong.join("\n")}`);
process.exit(wrong.length === 0 ? 0 : 1);
