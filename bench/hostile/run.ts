/**
 * Measures what attacks cost honest users and the gateway. Each attack of e2e/hostile/floods.test.ts runs for some
 * seconds and is compared with a quiet period of the same run.
 *
 * npm run bench -- hostile [part of a name] [--seconds 5]
 * npm run bench -- hostile --frames 100000
 *
 * With `--frames`, it sends frames of hostile nodes instead, and measures for how long each occupies the gateway's
 * event loop. Linux only: figures come from /proc.
 */

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import type { Process } from "@tollgate/stage/killable-process.ts";
import { startNode } from "@tollgate/stage/nodes/start-agent.ts";
import { openStage, type ProcessStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { INSPECTOR_OPTION, MemoryProbe } from "../../e2e/fuzz/gateway-memory.ts";
import {
  floodPlane,
  MODEL_OF_HONEST_USERS,
  sendBodiesWithoutCredit,
  sendEndlessWhiteSpace,
  sendInvalidNatsOperations,
  sendLargeBodies,
  sendPingsWithoutReading,
} from "../../e2e/hostile/attacks.ts";
import type { Attack } from "../../e2e/hostile/honest-users.ts";
import {
  type Flood,
  findGatewayName,
  sendMalformedFrames,
  sendMalformedStates,
  sendOutputOfUnknownJobs,
  sendStatesOfManyModels,
} from "../../e2e/hostile/plane-floods.ts";
import {
  cpuSpentUs,
  readCpuTime,
  readPeakMemoryMib,
  readResidentMemoryMib,
  resetPeakMemory,
} from "../gateway/process-resource-usage.ts";
import type { UserFigures, UserOptions } from "./honest-users-thread.ts";
import { LoopMeter, NODE_READ_TIMER_FLAG } from "./loop-meter.ts";
import { measureFrames } from "./measure-frames.ts";

const EVERY_MS = 40;
const FLOODS: [string, Flood][] = [
  ["malformed states", sendMalformedStates],
  ["valid states of 250 models", sendStatesOfManyModels],
  ["malformed frames", sendMalformedFrames],
  ["output of jobs that are nobody's", sendOutputOfUnknownJobs],
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: "string", default: "5" }, frames: { type: "string" } },
});
const windowMs = Number(values.seconds) * 1000;

if (values.frames === undefined) await measureAttacks(positionals[0] ?? "");
else await measureFrames(Number(values.frames));
process.exit(0);

interface Measured extends UserFigures {
  /** The gateway's processor time in ms per second. */
  cpuMsPerS: number;
  /** The longest turn of the gateway's event loop, in ms of processor time. */
  turnMs: number;
  /** The gateway's maximum memory above its memory at the start, in MiB. */
  risenMib: number;
  logBytes: number;
}

async function measureAttacks(wanted: string): Promise<void> {
  const unwatched = { AUTO_QUARANTINE: "false", PROBATION_ANSWERS: "0" };
  const inspected = { NODE_OPTIONS: `${INSPECTOR_OPTION} ${NODE_READ_TIMER_FLAG}` };
  const stage = await openStage({ as: "processes", store: "private", env: { ...unwatched, ...inspected } });
  let agent: Process | undefined;
  let probe: MemoryProbe | undefined;
  try {
    const { key } = await stage.builder();
    const ready = { gateway_url: stage.baseUrl, host_token: (await stage.host()).token };
    agent = await startNode({ ready }, { name: "honest", model: MODEL_OF_HONEST_USERS, slots: 64 });
    const hello = { model: MODEL_OF_HONEST_USERS, prompt: `#script ${JSON.stringify({ text: "hello" })}` };
    await eventually("the honest node serves", async () => (await sendUserMessage(stage, key, hello)).status === 200);
    probe = await MemoryProbe.open(await readFile(stage.gateway.logFile, "utf8"));
    const loop = await LoopMeter.install(probe);
    const workerData: UserOptions = { baseUrl: stage.baseUrl, key, model: MODEL_OF_HONEST_USERS, everyMs: EVERY_MS };
    const users = new Worker(new URL("./honest-users-thread.ts", import.meta.url), { workerData });
    const measure = measureOf(stage, users, loop);
    await measure(() => sleep(windowMs));
    for (const [name, attack] of (await attacksOn(stage)).filter(([name]) => name.includes(wanted))) {
      const quiet = await measure(() => sleep(windowMs));
      const until = performance.now() + windowMs;
      const isOver = (): boolean => performance.now() > until;
      const attacked = await measure(async () => {
        while (!isOver()) await attack(isOver);
      });
      console.log(name);
      tell("quiet", quiet);
      tell("attacked", attacked);
      const times = (of: "p50Ms" | "p99Ms"): string => (attacked[of] / quiet[of]).toFixed(1);
      console.log(`  honest users waited ${times("p50Ms")} times as long (median), ${times("p99Ms")} times (p99)`);
    }
    await users.terminate();
  } finally {
    await agent?.kill();
    // A process with a connected inspector does not exit by itself.
    probe?.close();
    await stage.close();
  }
}

async function attacksOn(stage: ProcessStage): Promise<[string, Attack][]> {
  const [attacker, poor, gateway] = [await stage.builder(), await stage.builder(0n), await findGatewayName(stage)];
  return [
    ["white space before the thinking", sendEndlessWhiteSpace(stage, attacker, "")],
    ["white space inside the thinking", sendEndlessWhiteSpace(stage, attacker, "<think>well")],
    ...FLOODS.map(([what, flood]): [string, Attack] => [`flood of ${what}`, floodPlane(stage, gateway, flood)]),
    ["unread pings over 32 connections", sendPingsWithoutReading(stage)],
    ["broken operations", sendInvalidNatsOperations(stage)],
    ["12 bodies of 10 MiB without credit", sendBodiesWithoutCredit(stage, poor)],
    ["32 bodies of 8 MiB with credit", sendLargeBodies(stage, attacker)],
  ];
}

function measureOf(
  stage: ProcessStage,
  users: Worker,
  loop: LoopMeter,
): (run: () => Promise<void>) => Promise<Measured> {
  const watched = { pid: stage.pid, withChildren: false };
  const figures = async (): Promise<UserFigures> => {
    users.postMessage("report");
    const [told] = (await once(users, "message")) as [UserFigures];
    return told;
  };
  return async (run) => {
    await figures();
    await loop.read();
    resetPeakMemory(watched);
    const before = {
      cpu: readCpuTime(watched),
      mib: readResidentMemoryMib(watched),
      log: await stage.logBytes(),
      at: performance.now(),
    };
    await run();
    const seconds = (performance.now() - before.at) / 1000;
    return {
      ...(await figures()),
      cpuMsPerS: cpuSpentUs(before.cpu, readCpuTime(watched)) / 1000 / seconds,
      turnMs: (await loop.read()).turnMs,
      risenMib: readPeakMemoryMib(watched) - before.mib,
      logBytes: (await stage.logBytes()) - before.log,
    };
  };
}

function tell(what: string, measured: Measured): void {
  const { answered, wrong, p50Ms, p99Ms, cpuMsPerS, turnMs, risenMib, logBytes } = measured;
  const rows = [
    `${answered} answers, ${wrong} wrong, p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms`,
    `gateway ${cpuMsPerS.toFixed(0)} ms of processor time a second, longest turn ${turnMs.toFixed(0)} ms of it`,
    `${risenMib.toFixed(0)} MiB more, ${(logBytes / 1024).toFixed(0)} KiB of log`,
  ];
  console.log(`  ${what.padEnd(9)} ${rows.join("; ")}`);
}
