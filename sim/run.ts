/**
 * `npm run sim`: simulates a world for each seed, twice each, and reports broken rules and differences between the two
 * runs.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { describeFailure } from "./describe-failure.ts";
import { generateRandomPlan, type PlanOptions } from "./generate-random-plan.ts";
import { shrinkPlan } from "./shrink-plan.ts";
import type { WorldOutcome } from "./simulate.ts";
import { createFaultCounts, type FaultKind } from "./world/fault-counts.ts";
import type { Plan } from "./world-plan.ts";
import { runWorldsOnThreads, type WorldResult } from "./world-threads.ts";

const USAGE = `npm run sim -- [--seed N | --seeds FROM-TO | --fresh COUNT | --soak MINUTES | --replay FILE]
  --minutes M     virtual minutes of each world (2; of a soak 3)
  --soak MINUTES  fresh worlds for so long, one fault after the other; every tenth twice, the others once
  --faults-total N
                  a soak ends after so many faults, if it comes to them
  --faults K, --gateways G, --nodes N
                  instead of what the seed decides
  --once          each world once; without it twice, and both must be the same to the last line
  --threads N     lives through so many worlds at once (as many as there are processors, at most 8)
  --trace         prints everything that happened
  --all           goes on after a world that went wrong, with a line for each
  --quiet         of a world that went wrong, one line and no file
  --no-shrink     does not look for a shorter plan that fails the same way
  --traffic       how many messages a platform sends over the plane, by its gateways and nodes
  --out FILE      where a failing plan is written (sim-failure.json)`;

const OPTIONS = {
  seed: { type: "string" },
  seeds: { type: "string" },
  fresh: { type: "string" },
  soak: { type: "string" },
  replay: { type: "string" },
  minutes: { type: "string" },
  faults: { type: "string" },
  "faults-total": { type: "string" },
  gateways: { type: "string" },
  nodes: { type: "string" },
  once: { type: "boolean", default: false },
  threads: { type: "string" },
  trace: { type: "boolean", default: false },
  all: { type: "boolean", default: false },
  quiet: { type: "boolean", default: false },
  traffic: { type: "boolean", default: false },
  "no-shrink": { type: "boolean", default: false },
  out: { type: "string", default: "sim-failure.json" },
  help: { type: "boolean", default: false },
} as const;

const MINUTES = 2;
/** The length of a soak's worlds in minutes: long enough that the healing at the end is a small part of the run. */
const SOAK_MINUTES = 3;
/** CI checks for every world that a second run is equal; a soak (a run over hours) checks only one world in ten. */
const SOAK_TWICE_EVERY = 10;

class WrongUse extends Error {}

function readFlags() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    throw new WrongUse((error as Error).message);
  }
}

/** Returns the number given by a flag; undefined if the flag is absent. */
function numberOf(name: string, text: string | undefined, { least }: { least: number }): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isFinite(value) || value < least) throw new WrongUse(`--${name} must be a number from ${least} on`);
  return value;
}

function wholeOf(name: string, text: string | undefined, bound: { least: number }): number | undefined {
  const value = numberOf(name, text, bound);
  if (value !== undefined && !Number.isInteger(value)) throw new WrongUse(`--${name} must be a whole number`);
  return value;
}

async function main(): Promise<number> {
  const flags = readFlags();
  if (flags.help) {
    console.log(USAGE);
    return 0;
  }
  if (flags.traffic) {
    const [{ formatTrafficTable: trafficTable }, { loadTokenCounting: loadTokens }] = [
      await import("./plane-traffic.ts"),
      await import("./token-counting.ts"),
    ];
    console.log(await trafficTable(await loadTokens()));
    return 0;
  }
  const options: PlanOptions = {
    minutes: numberOf("minutes", flags.minutes, { least: 0.1 }) ?? (flags.soak === undefined ? MINUTES : SOAK_MINUTES),
    faults: wholeOf("faults", flags.faults, { least: 0 }),
    gateways: wholeOf("gateways", flags.gateways, { least: 1 }),
    nodes: wholeOf("nodes", flags.nodes, { least: 1 }),
    isDense: flags.soak !== undefined,
  };
  const faultsMax = wholeOf("faults-total", flags["faults-total"], { least: 1 }) ?? Number.POSITIVE_INFINITY;
  if (flags["faults-total"] !== undefined && flags.soak === undefined)
    throw new WrongUse("--faults-total needs --soak");
  const sums = new Sums();
  let wrong = 0;
  for await (const { plan, outcome, again } of lived(flags, options)) {
    if (flags.trace) console.log(outcome.trace.join("\n"));
    if (again !== undefined && again.hash !== outcome.hash) {
      console.log(
        `seed ${plan.seed}: two runs of it differ (${outcome.hash.slice(0, 16)}, ${again.hash.slice(0, 16)})`,
      );
      return 1;
    }
    if (outcome.violation !== undefined && flags.all) {
      wrong += 1;
      console.log(`seed ${plan.seed}, step ${outcome.steps}: ${outcome.violation.message}`);
    } else if (outcome.violation !== undefined) {
      console.log(`seed ${plan.seed} fails at step ${outcome.steps}: ${outcome.violation.message}`);
      if (!flags.quiet) await report(plan, outcome, { shrinks: !flags["no-shrink"], out: flags.out });
      return 1;
    }
    sums.add(outcome);
    if (sums.faults >= faultsMax) break;
    if (flags.seed !== undefined || flags.replay !== undefined)
      console.log(`seed ${plan.seed}: nothing wrong; ${outcome.steps} steps, trace ${outcome.hash}`);
  }
  sums.print();
  return wrong > 0 ? 1 : 0;
}

/**
 * Returns a function that runs worlds on this thread. The modules are imported here, so that this thread need not load
 * them when other threads run the worlds.
 */
async function here(): Promise<(plan: Plan, options?: { keepsTrace?: boolean }) => Promise<WorldOutcome>> {
  const [{ simulateWorld: simulate }, { loadTokenCounting: loadTokens }] = [
    await import("./simulate.ts"),
    await import("./token-counting.ts"),
  ];
  const tokens = await loadTokens();
  return (plan, options) => simulate(plan, tokens, options);
}

/** Runs a single world on this thread, where its trace can be read, and several worlds on separate threads. */
async function* lived(flags: ReturnType<typeof readFlags>, options: PlanOptions): AsyncGenerator<WorldResult> {
  const threads = wholeOf("threads", flags.threads, { least: 1 }) ?? Math.min(8, availableParallelism());
  const plans = plansOf(flags, options);
  const isTwice = (turn: number): boolean => !flags.once && (flags.soak === undefined || turn % SOAK_TWICE_EVERY === 0);
  if (flags.seeds !== undefined || flags.fresh !== undefined || flags.soak !== undefined) {
    yield* runWorldsOnThreads(plans, { threads, isTwice });
    return;
  }
  const live = await here();
  for (const plan of plans) {
    const outcome = await live(plan, { keepsTrace: flags.trace });
    yield { plan, outcome, again: flags.once ? undefined : await live(plan) };
  }
}

/** Sums over all worlds, each world counted once. */
class Sums {
  readonly #began = performance.now();
  readonly #faults = createFaultCounts();
  readonly #outcomes: Record<string, number> = {};
  #worlds = 0;
  #virtualMs = 0;
  #steps = 0;
  #requests = 0;
  #operations = 0;

  add({ virtualMs, steps, requests, operations, faults, outcomes }: WorldOutcome): void {
    this.#worlds += 1;
    this.#virtualMs += virtualMs;
    this.#steps += steps;
    this.#requests += requests;
    this.#operations += operations;
    for (const [kind, count] of Object.entries(faults)) this.#faults[kind as FaultKind] += count;
    for (const [name, count] of Object.entries(outcomes)) this.#outcomes[name] = (this.#outcomes[name] ?? 0) + count;
  }

  get faults(): number {
    return Object.values(this.#faults).reduce((sum, count) => sum + count, 0);
  }

  print(): void {
    const seconds = (performance.now() - this.#began) / 1000;
    const { user, system } = process.cpuUsage();
    const processorSeconds = (user + system) / 1e6;
    const { faults } = this;
    const list = (counts: Record<string, number>): string =>
      Object.entries(counts)
        .map(([name, count]) => `${name} ${count}`)
        .join(", ");
    console.log(`requests: ${list(this.#outcomes)}`);
    console.log(`faults: ${list(this.#faults)}; operations ${this.#operations}`);
    console.log(
      `${this.#worlds} worlds, ${this.#requests} requests, ${faults} faults, ${this.#steps} steps, ` +
        `${(this.#virtualMs / 3_600_000).toFixed(1)} virtual hours in ${seconds.toFixed(1)} s ` +
        `(${processorSeconds.toFixed(1)} s of processors): ${(faults / seconds).toFixed(0)} faults a second, ` +
        `${(faults / processorSeconds).toFixed(0)} a second of processors`,
    );
  }
}

/** Returns a random seed, so that every run of CI also tests new worlds. */
const freshSeed = (): number => Math.floor(Math.random() * 2 ** 31);

function* plansOf(flags: ReturnType<typeof readFlags>, options: PlanOptions): Generator<Plan> {
  const { seed, seeds, fresh, soak, replay } = flags;
  if (replay !== undefined) {
    yield JSON.parse(readFileSync(replay, "utf8")) as Plan;
    return;
  }
  if (seeds !== undefined) {
    const [, from, to] = /^(\d+)-(\d+)$/.exec(seeds) ?? [];
    if (from === undefined || to === undefined) throw new WrongUse("--seeds must be two whole numbers, FROM-TO");
    for (let one = Number(from); one <= Number(to); one++) yield generateRandomPlan(one, options);
  }
  const freshCount = wholeOf("fresh", fresh, { least: 1 }) ?? 0;
  for (let i = 0; i < freshCount; i++) yield generateRandomPlan(freshSeed(), options);
  const soakMinutes = numberOf("soak", soak, { least: 0.01 });
  if (soakMinutes !== undefined) {
    const endMs = performance.now() + soakMinutes * 60_000;
    while (performance.now() < endMs) yield generateRandomPlan(freshSeed(), options);
  }
  if (seeds === undefined && fresh === undefined && soak === undefined)
    yield generateRandomPlan(wholeOf("seed", seed, { least: 0 }) ?? freshSeed(), options);
}

async function report(
  plan: Plan,
  outcome: WorldOutcome,
  { shrinks, out }: { shrinks: boolean; out: string },
): Promise<void> {
  const live = await here();
  const run = (one: Plan): Promise<WorldOutcome> => live(one, { keepsTrace: true });
  const short = shrinks ? await shrinkPlan(plan, outcome, run) : plan;
  const last = await run(short);
  writeFileSync(out, `${JSON.stringify(short, null, 1)}\n`);
  console.log(describeFailure(short, last));
  console.log(`again: npm run sim -- --replay ${out}`);
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof WrongUse)) throw error;
  console.error(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
