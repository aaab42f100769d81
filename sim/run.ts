/** `npm run sim`: lives through seeds, each twice, and says where a world went wrong. */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { makePlan, type Plan, type PlanOptions } from "./plan.ts";
import { shrink } from "./shrink.ts";
import { type Outcome, simulate } from "./simulate.ts";
import { story } from "./story.ts";
import { loadTokens } from "./tokens.ts";

const USAGE = `npm run sim -- [--seed N | --seeds FROM-TO | --fresh COUNT | --soak MINUTES | --replay FILE]
  --minutes M     virtual minutes of each world (2)
  --faults K, --gateways G, --nodes N
                  instead of what the seed decides
  --once          each world once; without it twice, and both must be the same to the last line
  --trace         prints everything that happened
  --all           goes on after a world that went wrong, with a line for each
  --quiet         of a world that went wrong, one line and no file
  --no-shrink     does not look for a shorter plan that fails the same way
  --out FILE      where a failing plan is written (sim-failure.json)`;

const OPTIONS = {
  seed: { type: "string" },
  seeds: { type: "string" },
  fresh: { type: "string" },
  soak: { type: "string" },
  replay: { type: "string" },
  minutes: { type: "string", default: "2" },
  faults: { type: "string" },
  gateways: { type: "string" },
  nodes: { type: "string" },
  once: { type: "boolean", default: false },
  trace: { type: "boolean", default: false },
  all: { type: "boolean", default: false },
  quiet: { type: "boolean", default: false },
  "no-shrink": { type: "boolean", default: false },
  out: { type: "string", default: "sim-failure.json" },
  help: { type: "boolean", default: false },
} as const;

class WrongUse extends Error {}

function readFlags() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    throw new WrongUse((error as Error).message);
  }
}

/** A number that a flag gives; undefined where it is absent. */
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
  const options: PlanOptions = {
    minutes: numberOf("minutes", flags.minutes, { least: 0.1 }) as number,
    faults: wholeOf("faults", flags.faults, { least: 0 }),
    gateways: wholeOf("gateways", flags.gateways, { least: 1 }),
    nodes: wholeOf("nodes", flags.nodes, { least: 1 }),
  };
  const plans = plansOf(flags, options);
  const tokens = await loadTokens();
  const began = performance.now();
  const sums = { worlds: 0, virtualMs: 0, steps: 0, requests: 0, faults: 0 };
  const outcomes: Record<string, number> = {};
  let wrong = 0;
  for (const plan of plans) {
    const outcome = await simulate(plan, tokens, { keepsTrace: flags.trace });
    if (flags.trace) console.log(outcome.trace.join("\n"));
    const again = flags.once || outcome.violation !== undefined ? undefined : await simulate(plan, tokens);
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
      if (flags.quiet) return 1;
      const run = (one: Plan): Promise<Outcome> => simulate(one, tokens, { keepsTrace: true });
      await report(plan, outcome, { shrinks: !flags["no-shrink"], run, out: flags.out });
      return 1;
    }
    sums.worlds += 1;
    sums.virtualMs += outcome.virtualMs * (flags.once ? 1 : 2);
    sums.steps += outcome.steps;
    sums.requests += outcome.requests;
    sums.faults += outcome.faults;
    for (const [name, count] of Object.entries(outcome.outcomes)) outcomes[name] = (outcomes[name] ?? 0) + count;
    if (flags.seed !== undefined || flags.replay !== undefined)
      console.log(`seed ${plan.seed}: nothing wrong; ${outcome.steps} steps, trace ${outcome.hash}`);
  }
  const seconds = (performance.now() - began) / 1000;
  console.log(JSON.stringify(outcomes));
  console.log(
    `${sums.worlds} worlds, ${sums.requests} requests, ${sums.faults} faults and operations, ${sums.steps} steps in ` +
      `${seconds.toFixed(1)} s: ${Math.round(sums.virtualMs / 1000 / seconds)} virtual seconds a second, ` +
      `${(sums.faults / seconds).toFixed(1)} faults a second`,
  );
  return wrong > 0 ? 1 : 0;
}

/** Seeds that nobody chose, so that every run of CI looks at worlds that none has seen. */
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
    for (let one = Number(from); one <= Number(to); one++) yield makePlan(one, options);
  }
  const freshCount = wholeOf("fresh", fresh, { least: 1 }) ?? 0;
  for (let i = 0; i < freshCount; i++) yield makePlan(freshSeed(), options);
  const soakMinutes = numberOf("soak", soak, { least: 0.01 });
  if (soakMinutes !== undefined) {
    const endMs = performance.now() + soakMinutes * 60_000;
    while (performance.now() < endMs) yield makePlan(freshSeed(), options);
  }
  if (seeds === undefined && fresh === undefined && soak === undefined)
    yield makePlan(wholeOf("seed", seed, { least: 0 }) ?? freshSeed(), options);
}

async function report(
  plan: Plan,
  outcome: Outcome,
  { shrinks, run, out }: { shrinks: boolean; run: (plan: Plan) => Promise<Outcome>; out: string },
): Promise<void> {
  const short = shrinks ? await shrink(plan, outcome, run) : plan;
  const last = await run(short);
  writeFileSync(out, `${JSON.stringify(short, null, 1)}\n`);
  console.log(story(short, last));
  console.log(`again: npm run sim -- --replay ${out}`);
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof WrongUse)) throw error;
  console.error(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
