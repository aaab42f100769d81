/**
 * Compares the throughput and latency of a real engine directly with those through Tollgate. Reports the share of the
 * throughput that remains, the time to the first token, the processor time per token in gateway and agent, and the
 * number of failed requests.
 *
 * npm run bench -- gpu --engine http://127.0.0.1:18090 [--embeddings http://127.0.0.1:18091] [--levels 1,16,64,128]
 * [--requests 1000] [--model NAME] [--width 3072] [--level-s 120] [--profile] [--out DIR]
 *
 * engine.sh builds llama.cpp's server, makes a model and starts both; the model's words are one token each. Linux only.
 */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { withProfile } from "../gateway/cpu-profile.ts";
import type { FakeEngine } from "../gateway/fake-engine.ts";
import { type LoadResult, runLoad, type TargetAddress } from "../gateway/load.ts";
import { cpuSpentUs, readCpuTime } from "../gateway/process-resource-usage.ts";
import type { Scenario } from "../gateway/scenarios.ts";
import type { ProcessRole, Target } from "../gateway/targets/target.ts";
import { tollgateWithEngines } from "../gateway/targets/tollgate.ts";
import { checkEmbeddings, checkStructuredOutput } from "./engine-feature-checks.ts";
import { type ConcurrencyLevel, type LoadMeasurement, renderGpuResultsTable } from "./gpu-results-table.ts";

const { values } = parseArgs({
  options: {
    engine: { type: "string" },
    embeddings: { type: "string" },
    levels: { type: "string", default: "1,16,64,128" },
    requests: { type: "string", default: "1000" },
    model: { type: "string", default: "Llama-3.2-3B-Instruct" },
    width: { type: "string", default: "3072" },
    "level-s": { type: "string", default: "120" },
    profile: { type: "boolean", default: false },
    out: { type: "string" },
  },
});
if (values.engine === undefined) throw new Error("--engine URL is missing: engine.sh starts one");
/** How many times a level of concurrency is measured, alternately on the engine and through the gateway. */
const TURNS = 5;
const GRACE_S = 30;
const WARM_STREAMS = 64;
const WARM_REQUESTS = 512;
/**
 * Then short answers warm gateway and agent up until each has used this much processor time: a cold Node costs two or
 * three times as much, and an engine is too slow to warm it up with long answers.
 */
const WARM_CPU_US = 12e6;
const WARM_MS_MAX = 45_000;
const outDir = values.out ?? mkdtempSync(join(tmpdir(), "tollgate-gpu-"));
mkdirSync(outDir, { recursive: true });

const url = new URL(values.engine);
const direct: TargetAddress = {
  port: Number(url.port),
  models: { chat: values.model, embedding: values.model },
  headers: {},
  // The engine closes connections without announcing it in the response head, which would make the next request fail.
  freshConnections: true,
};
const surroundings = {
  engine: { url: values.engine, port: direct.port } as FakeEngine,
  processors: { measured: null, others: null },
  outDir,
  profile: values.profile,
};
const overHttp = (address: string, model: string): string[] => [
  ...["--engine", "openai", "--engine-url", address],
  ...["--map", `${model}=${values.model}`, "--models", model],
];
const engines = [overHttp(values.engine, "tiny-3b")];
if (values.embeddings !== undefined) engines.push(overHttp(values.embeddings, "embed-m3"));

/**
 * Returns the load for a number of concurrent requests. One request at a time gets a short prompt and a short answer.
 */
const scenarioOf = (concurrent: number, total: number): Scenario => ({
  what: `${concurrent} at once`,
  endpoint: "chat",
  mode: "loop",
  concurrent,
  total,
  seconds: Number(values["level-s"]) / (2 * TURNS),
  // Requests that were started by the end of the turn may finish within the grace period.
  secondsMax: Number(values["level-s"]) / (2 * TURNS) + GRACE_S,
  promptBytes: concurrent === 1 ? 128 : 512,
  messages: 1,
  tokens: concurrent === 1 ? 8 : 64,
  toTheCap: true,
  stream: true,
  delayMs: 0,
  burst: 1,
  rampMs: 0,
});

process.once("SIGINT", () => process.exit(130));
const target = await tollgateWithEngines(engines, { vectorWidth: Number(values.width) })(surroundings);
try {
  await measureAll(target);
} finally {
  await target.stop();
}

async function measureAll(target: Target): Promise<void> {
  // Warms up engine and gateway, so that the gateway's code is loaded and compiled.
  await turn(direct, scenarioOf(16, 64), target);
  await turn(target.address, scenarioOf(WARM_STREAMS, WARM_REQUESTS), target);
  const short = { ...scenarioOf(1, WARM_REQUESTS), concurrent: WARM_STREAMS };
  const until = performance.now() + WARM_MS_MAX;
  for (let [gateway, agent] = [0, 0]; Math.min(gateway, agent) < WARM_CPU_US && performance.now() < until; ) {
    const { cpuUs } = await turn(target.address, short, target);
    gateway += cpuUs.gateway ?? 0;
    agent += cpuUs.agent ?? 0;
  }
  const levels: ConcurrencyLevel[] = [];
  for (const concurrent of values.levels.split(",").map(Number)) {
    const level: ConcurrencyLevel = { concurrent, tokens: scenarioOf(concurrent, 1).tokens, direct: [], through: [] };
    const run = async (): Promise<void> => {
      // Rounds up to a multiple of the concurrency: the requests of a partial wave would run at a lower concurrency.
      const waves = Math.ceil(Number(values.requests) / TURNS / concurrent);
      const scenario = scenarioOf(concurrent, waves * concurrent);
      for (let nth = 0; nth < TURNS; nth++) {
        const both = [
          async () => level.direct.push(await turn(direct, scenario, target)),
          async () => level.through.push(await turn(target.address, scenario, target)),
        ];
        for (const one of nth % 2 === 0 ? both : both.toReversed()) await one();
      }
    };
    await withProfile(target, { outDir, name: `gpu-${concurrent}` }, run);
    levels.push(level);
    console.log(`\n${renderGpuResultsTable([level])}`);
  }
  const structured = await checkStructuredOutput(target.address, { requests: 64, atOnce: 16 });
  const embeddings =
    values.embeddings === undefined ? undefined : await checkEmbeddings(target.address, { requests: 128, atOnce: 16 });
  const summary = `${renderGpuResultsTable(levels)}\n\n${[structured, embeddings ?? "no embeddings"].join("\n")}\n`;
  writeFileSync(join(outDir, "gpu.md"), summary);
  writeFileSync(join(outDir, "gpu.json"), JSON.stringify(levels));
  console.log(`\n${summary}`);
}

async function turn(address: TargetAddress, scenario: Scenario, target: Target): Promise<LoadMeasurement> {
  const parts = Object.entries(target.parts) as [ProcessRole, NonNullable<Target["parts"][ProcessRole]>][];
  const look = async () => new Map(parts.map(([role, part]) => [role, readCpuTime(part)]));
  const { result, before, after } = await runLoad({ address, direct, scenario, look });
  const spent = parts.map(([role]) => [role, cpuSpentUs(before.get(role) as never, after.get(role) as never)]);
  const { ok, errors, wallUs, firstWordMs, latencyMs }: LoadResult = result;
  return { ok, errors, wallUs, firstWordMs, latencyMs, cpuUs: Object.fromEntries(spent) };
}
