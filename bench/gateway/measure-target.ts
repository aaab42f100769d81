/**
 * Measures one scenario with one target: warms up, sends the load, and records the processor time of every process
 * involved.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { EngineCounts, FakeEngine } from "./fake-engine.ts";
import { type LoadResult, runLoad, type TargetAddress } from "./load.ts";
import {
  type CpuTimeReading,
  countSystemCalls,
  cpuSpentUs,
  readCpuTime,
  readMachineCpuUs,
  readPeakMemoryMib,
  readResidentMemoryMib,
  resetPeakMemory,
  type SystemCallCounts,
  type WatchedProcess,
} from "./process-resource-usage.ts";
import { SCENARIOS, type Scenario } from "./scenarios.ts";
import { type ProcessRole, type Target, TargetUnavailable } from "./targets/target.ts";

/**
 * How long, in seconds, the load runs before the measurement. While other targets were measured, V8 discarded memory
 * and compiled code, and the first seconds of load rebuild them.
 */
const LEAD_IN_S = 2;
/** How long to wait for the streams of an earlier run to end, in milliseconds. */
const QUIET_WITHIN_MS = 5_000;

export type CpuConsumer = ProcessRole | "engine" | "generator" | "other" | "stolen";

/**
 * The processes that a request passes through and whose system calls are counted. PostgreSQL is left out, because only
 * the user that it runs as could count its calls.
 */
type Passing = Exclude<ProcessRole, "postgres">;

/** The result of one measurement, which is one line of the results file. */
export interface ResultRow extends Omit<LoadResult, "errors"> {
  scenario: string;
  target: string;
  repeat: number;
  errors: Record<string, number>;
  /**
   * Processor time of the run in microseconds. `other`: of processes outside the bench; `stolen`: of other virtual
   * machines on the hardware.
   */
  cpuUs: Partial<Record<CpuConsumer, number>>;
  handOvers: Partial<Record<Passing, SystemCallCounts>>;
  engineRequests: number;
  engineEvents: number;
  /** The memory of the gateway's process before the run, and its maximum during the run, in MiB. */
  gatewayBeforeMib: number | undefined;
  gatewayPeakMib: number | undefined;
  /**
   * The duration of the slowest stream divided by the duration that the engine's pace implies; undefined if the engine
   * does not pace streams.
   */
  slowestOverPace: number | undefined;
}

export interface BenchContext {
  engine: FakeEngine;
  direct: TargetAddress;
}

interface Snapshot {
  cpu: Map<CpuConsumer, CpuTimeReading>;
  handOvers: Map<Passing, SystemCallCounts>;
  machine: ReturnType<typeof readMachineCpuUs>;
  counts: EngineCounts;
}

export async function measureTarget(
  bench: BenchContext,
  target: Target,
  run: { name: string; scenario: Scenario; repeat: number },
): Promise<ResultRow> {
  const { name, scenario, repeat } = run;
  await quiet(bench.engine);
  await bench.engine.set(scenario);
  const watched = new Map<CpuConsumer, WatchedProcess>([
    ...(Object.entries(target.parts) as [ProcessRole, WatchedProcess][]),
    ["engine", { pid: bench.engine.child.pid, withChildren: false }],
    ["generator", { pid: process.pid, withChildren: false }],
  ]);
  const passing = Object.entries(target.parts).filter(([who]) => who !== "postgres") as [Passing, WatchedProcess][];
  const look = async (): Promise<Snapshot> => ({
    cpu: new Map([...watched].map(([who, part]) => [who, readCpuTime(part)])),
    handOvers: new Map(passing.map(([who, part]) => [who, countSystemCalls(part)])),
    machine: readMachineCpuUs(),
    counts: await bench.engine.counts(),
  });
  const { address } = target;
  const load = { address, direct: bench.direct };
  if (scenario.seconds !== undefined)
    await runLoad({ ...load, scenario: { ...scenario, seconds: LEAD_IN_S }, look: async () => undefined });
  const { gateway } = target.parts;
  if (gateway !== undefined) resetPeakMemory(gateway);
  const gatewayBeforeMib = gateway === undefined ? undefined : readResidentMemoryMib(gateway);
  const { result, before, after } = await runLoad({ ...load, scenario, look });
  return {
    scenario: name,
    target: target.name,
    repeat,
    ...result,
    cpuUs: spent(before, after),
    handOvers: handedOver(before, after),
    engineRequests: after.counts.requests - before.counts.requests,
    engineEvents: after.counts.events - before.counts.events,
    gatewayBeforeMib,
    gatewayPeakMib: gateway === undefined ? undefined : readPeakMemoryMib(gateway),
    slowestOverPace:
      scenario.delayMs > 0 ? (result.latencyMs?.max ?? Number.NaN) / (scenario.tokens * scenario.delayMs) : undefined,
  };
}

function spent(before: Snapshot, after: Snapshot): ResultRow["cpuUs"] {
  const known = [...after.cpu].map(([who, count]): [CpuConsumer, number] => [
    who,
    cpuSpentUs(before.cpu.get(who) as CpuTimeReading, count),
  ]);
  const ours = known.reduce((sum, [, us]) => sum + us, 0);
  return {
    ...Object.fromEntries(known),
    other: Math.max(0, after.machine.busy - before.machine.busy - ours),
    stolen: after.machine.stolen - before.machine.stolen,
  };
}

function handedOver(before: Snapshot, after: Snapshot): ResultRow["handOvers"] {
  const between = [...after.handOvers].map(([who, { wakeUps, reads, writes }]): [Passing, SystemCallCounts] => {
    const then = before.handOvers.get(who) as SystemCallCounts;
    return [who, { wakeUps: wakeUps - then.wakeUps, reads: reads - then.reads, writes: writes - then.writes }];
  });
  return Object.fromEntries(between);
}

async function quiet(engine: FakeEngine): Promise<void> {
  const until = performance.now() + QUIET_WITHIN_MS;
  while ((await engine.counts()).live > 0 && performance.now() < until) await sleep(50);
}

const WARM_UP_MS_MAX = 60_000;

const WARM_CHATS: Scenario = { ...SCENARIOS["chat-c64"], concurrent: 32, seconds: 1 };
const WARM_STREAMS: Scenario = { ...SCENARIOS["streams-unpaced"], concurrent: 20, total: 60, secondsMax: 20 };

/**
 * Warms a target up until it has used this much processor time, and checks that it answers. Wall time would be a wrong
 * measure: a target that got little processor time would still be cold. Returns the processor time used, in seconds.
 */
export async function warmUpTarget(bench: BenchContext, target: Target, cpuSeconds: number): Promise<number> {
  const until = performance.now() + WARM_UP_MS_MAX;
  let warmedUs = 0;
  do {
    for (const scenario of target.wholeAnswersOnly ? [WARM_CHATS] : [WARM_CHATS, WARM_STREAMS]) {
      const row = await measureTarget(bench, target, { name: "warm-up", scenario, repeat: 0 });
      warmedUs += row.cpuUs.gateway ?? 0;
      if (row.ok === 0) throw new TargetUnavailable(`it gives no good answers: ${JSON.stringify(row.errors)}`);
    }
  } while (target.parts.gateway !== undefined && warmedUs < cpuSeconds * 1e6 && performance.now() < until);
  return warmedUs / 1e6;
}
