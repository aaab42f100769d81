/**
 * Measures the agent's cost per chat and per stream event with an HTTP engine: processor time, reads and writes. An
 * embedded hub and a loop that hands out jobs replace the gateway, so that little else affects the figures.
 *
 * npm run bench -- agent [--beside DIR]... [--rounds N] [--scenarios a,b]
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { decodeFrame, encodeFrame } from "@tollgate/protocol/frame-codec.ts";
import { splitJob } from "@tollgate/protocol/job-splitting.ts";
import { gatewayInboxSubject, nodeSubject } from "@tollgate/protocol/nats-subjects.ts";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { systemRandom } from "../../gateway/src/base/random.ts";
import { openHub } from "../../gateway/src/plane/hub/hub.ts";
import { BenchProcess } from "../gateway/bench-process.ts";
import { type EnginePace, FakeEngine } from "../gateway/fake-engine.ts";
import { cpuSpentUs, readCpuTime } from "../gateway/process-resource-usage.ts";

const OWN_CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
const MAIN = fileURLToPath(new URL("./agent-process.ts", import.meta.url));
const GATEWAY = "gw_bench";
/**
 * Number of jobs before the measurement: a newly started Node process needs two or three times as much time per job.
 */
const WARM_JOBS = 3_000;

interface Scenario {
  what: string;
  concurrent: number;
  jobs: number;
  stream: boolean;
  pace: EnginePace;
  per: "job" | "event";
}

const SCENARIOS: Record<string, Scenario> = {
  chat: {
    what: "a chat of 100 tokens, 64 at once",
    concurrent: 64,
    jobs: 3_000,
    stream: false,
    pace: { tokens: 100, delayMs: 0, burst: 100 },
    per: "job",
  },
  alone: {
    what: "a chat of 100 tokens, one at a time",
    concurrent: 1,
    jobs: 500,
    stream: false,
    pace: { tokens: 100, delayMs: 0, burst: 100 },
    per: "job",
  },
  paced: {
    what: "an event of 100 streams, 20 ms apart",
    concurrent: 100,
    jobs: 100,
    stream: true,
    pace: { tokens: 150, delayMs: 20, burst: 1 },
    per: "event",
  },
  unpaced: {
    what: "an event of 200 streams at once, ten in a write, no pause",
    concurrent: 200,
    jobs: 400,
    stream: true,
    pace: { tokens: 200, delayMs: 0, burst: 10 },
    per: "event",
  },
};

const { values } = parseArgs({
  options: {
    beside: { type: "string", multiple: true, default: [] },
    rounds: { type: "string", default: "5" },
    scenarios: { type: "string", default: Object.keys(SCENARIOS).join(",") },
  },
});

const PROMPT = "Tell me of the ledger. ".repeat(45);
const outDir = mkdtempSync(join(tmpdir(), "tollgate-bench-agent-"));
const hub = await openHub({
  host: "127.0.0.1",
  port: 0,
  clock: systemClock,
  random: systemRandom(),
  log: createLog("silent"),
  limits: {},
});
const engine = await FakeEngine.start({ processors: null, outDir });

/** The jobs in flight, each with the callback that is called when the job ends. */
const running = new Map<string, (end: "done" | "failed" | "busy") => void>();
let frames = 0;
hub.subscribe(gatewayInboxSubject(GATEWAY), (_subject, payload) => {
  frames++;
  const frame = decodeFrame(payload);
  if (frame.kind === "done" || frame.kind === "failed" || frame.kind === "busy") running.get(frame.job)?.(frame.kind);
});

let jobs = 0;
function run(node: string, { stream, pace }: Scenario): Promise<void> {
  const job = `${String(++jobs).padStart(26, "0")}-01`;
  const header = { job, gateway: GATEWAY, model: "tiny-3b", endpoint: "chat" as const, stream, times: true };
  const whole = { ...header, output_tokens_max: pace.tokens, sampling: {} };
  const body = { messages: [{ role: "user", content: `${jobs} ${PROMPT}` }] };
  return new Promise((resolve, reject) => {
    running.set(job, (end) => {
      running.delete(job);
      if (end === "done") resolve();
      else reject(new Error(`a job ended as ${end}; see ${outDir}`));
    });
    for (const frame of splitJob(whole, body)) hub.publish(nodeSubject(node), encodeFrame(frame));
  });
}

async function load(node: string, scenario: Scenario, count: number): Promise<void> {
  let left = count;
  const worker = async (): Promise<void> => {
    while (left-- > 0) await run(node, scenario);
  };
  await Promise.all(Array.from({ length: Math.min(scenario.concurrent, count) }, worker));
}

interface Subject {
  name: string;
  node: string;
  child: BenchProcess;
}

async function start(name: string, checkout: string): Promise<Subject> {
  const node = `node_${name}`;
  const command = [process.execPath, MAIN, checkout, engine.url];
  const child = new BenchProcess({ name, command, processors: null, outDir, channel: true });
  const online = child.message((message) => ((message as { type: string }).type === "online" ? true : undefined));
  child.process.send({ node, credentials: await hub.mint(node) });
  await online;
  return { name, node, child };
}

/** Returns how many read and how many write system calls the process made, as counted by the kernel. */
function callsOf(pid: number): { reads: number; writes: number } {
  const io = readFileSync(`/proc/${pid}/io`, "utf8");
  const field = (name: string): number => Number(new RegExp(`^${name}: (\\d+)`, "m").exec(io)?.[1]);
  return { reads: field("syscr"), writes: field("syscw") };
}

interface Cost {
  us: number;
  reads: number;
  writes: number;
  frames: number;
}

async function measure({ node, child }: Subject, scenario: Scenario): Promise<Cost> {
  await engine.set(scenario.pace);
  const watched = { pid: child.pid, withChildren: false };
  const before = { cpu: readCpuTime(watched), calls: callsOf(child.pid), frames };
  await load(node, scenario, scenario.jobs);
  const after = { cpu: readCpuTime(watched), calls: callsOf(child.pid) };
  const count = scenario.per === "job" ? scenario.jobs : (await engine.counts()).events;
  return {
    us: cpuSpentUs(before.cpu, after.cpu) / count,
    reads: (after.calls.reads - before.calls.reads) / count,
    writes: (after.calls.writes - before.calls.writes) / count,
    frames: (frames - before.frames) / count,
  };
}

const middle = (numbers: number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] as number;

const subjects = [await start("here", OWN_CHECKOUT)];
for (const [at, checkout] of values.beside.entries()) subjects.unshift(await start(`beside${at + 1}`, checkout));
const warming = SCENARIOS.chat as Scenario;
await engine.set(warming.pace);
for (const { node } of subjects) await load(node, warming, WARM_JOBS);
for (const name of values.scenarios.split(",")) {
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new Error(`--scenarios: there is no ${name}`);
  const costs = new Map(subjects.map((subject) => [subject.name, [] as Cost[]]));
  for (let round = 0; round < Number(values.rounds); round++)
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed())
      costs.get(subject.name)?.push(await measure(subject, scenario));
  console.log(`${name}: ${scenario.what}, processor µs, then reads, writes and frames of each`);
  for (const [who, all] of costs) {
    const us = all.map((cost) => cost.us);
    const [least, most] = [Math.min(...us), Math.max(...us)].map((each) => each.toFixed(1));
    const of = (pick: (cost: Cost) => number): string => middle(all.map(pick)).toFixed(2);
    console.log(
      `  ${who.padEnd(8)} ${middle(us).toFixed(1)} (${least} – ${most}); ${of((cost) => cost.reads)}, ${of((cost) => cost.writes)}, ${of((cost) => cost.frames)}`,
    );
  }
  for (const { name: other } of subjects.filter(({ name }) => name !== "here")) {
    const own = costs.get("here") ?? [];
    const ratios = (costs.get(other) ?? []).map(({ us }, round) => (own[round] as Cost).us / us).sort((a, b) => a - b);
    const at = (share: number): string => (ratios[Math.floor(share * (ratios.length - 1))] as number).toFixed(2);
    console.log(`  here / ${other}, of each round: ${at(0.5)} (quartiles ${at(0.25)} – ${at(0.75)})`);
  }
}
for (const { child } of subjects) await child.stop();
await engine.child.stop();
await hub.close();
rmSync(outDir, { recursive: true });
