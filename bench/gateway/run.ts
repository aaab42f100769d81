/**
 * Compares the cost of Tollgate's gateway with nginx, a bare proxy and other gateways, in one run with the same fake
 * engine.
 *
 * Writes a line of JSON per measurement, a summary, and one file with all results. Flags: `npm run bench -- gateway
 * --help`.
 */
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { assignProcessors } from "./bench-process.ts";
import { withProfile } from "./cpu-profile.ts";
import { FakeEngine } from "./fake-engine.ts";
import { type Flags, HELP, parseFlags, TARGETS } from "./flags.ts";
import { type BenchContext, measureTarget, type ResultRow, warmUpTarget } from "./measure-target.ts";
import { measureDurableWriteMs } from "./process-resource-usage.ts";
import { formatResultLine, type RunConditions, summaryMarkdown } from "./report.ts";
import { readCommit, writeResult } from "./result-files.ts";
import { SCENARIOS, type Scenario, shortenScenario } from "./scenarios.ts";
import { type StartTarget, type Target, type TargetOptions, TargetUnavailable } from "./targets/target.ts";
import { scriptedTollgateFromCheckout, tollgateFromCheckout } from "./targets/tollgate.ts";

const OUT = fileURLToPath(new URL("./out", import.meta.url));
const PEERS: ReadonlySet<string> = new Set(["portkey", "new-api", "new-api-postgres", "litellm", "bifrost"]);
const WARM_CPU_SECONDS = { quick: 2, full: 12 };

process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
const flags = readFlags();
if (flags.help) console.log(HELP);
else await run(flags);

function readFlags(): Flags {
  try {
    return parseFlags(process.argv.slice(2));
  } catch (error) {
    console.error(`${(error as Error).message}\n${HELP}`);
    process.exit(1);
  }
}

async function run(flags: Flags): Promise<void> {
  const outDir = resolve(flags.out ?? join(OUT, new Date().toISOString().replaceAll(/[:.]/g, "-")));
  mkdirSync(outDir, { recursive: true });
  // Read at the start, because the sources may change while the bench runs.
  const commit = readCommit();
  const processors = assignProcessors(flags.pin);
  const engine = await FakeEngine.start({ processors: processors.others, outDir });
  const surroundings: TargetOptions = { engine, processors, outDir, profile: flags.profile };
  const bench: BenchContext = { engine, direct: (await TARGETS.direct(surroundings)).address };
  const { targets, leftOut } = await startTargets(flags, surroundings, bench);
  try {
    const facts: RunConditions = {
      commit,
      command: ["npm run bench -- gateway", ...asTyped(flags)].join(" "),
      startedAt: new Date().toISOString(),
      quick: flags.quick,
      repeats: flags.repeats,
      processor: cpus()[0]?.model.trim() ?? "unknown",
      processors: cpus().length,
      measuredOn: processors.measured,
      memoryGib: Math.round(totalmem() / 2 ** 30),
      node: process.version,
      versions: Object.fromEntries(
        targets.flatMap(({ name, version }) => (version === undefined ? [] : [[name, version]])),
      ),
      durableWriteMs: measureDurableWriteMs(outDir),
      leftOut,
    };
    const rows = await measureAll(flags, { bench, targets, outDir, facts });
    const summary = summaryMarkdown(facts, rows);
    writeFileSync(join(outDir, "summary.md"), summary);
    const files = writeResult({ ...facts, rows }, outDir, flags.record);
    console.log(`\n${summary}\n${files.join("\n")}`);
  } finally {
    for (const target of targets) await target.stop();
    await engine.child.stop();
  }
}

/** Returns the flags as typed, with the path of the other checkout hidden, because it exists only on this machine. */
function asTyped({ beside }: Flags): string[] {
  return process.argv.slice(2).map((word) => (beside === undefined ? word : word.replace(beside, "DIR")));
}

/** Starts and warms every target that this machine can run, and reports why others cannot run. */
async function startTargets(
  flags: Flags,
  surroundings: TargetOptions,
  bench: BenchContext,
): Promise<{ targets: Target[]; leftOut: string[] }> {
  const targets: Target[] = [];
  const leftOut: string[] = [];
  const asked: [string, StartTarget][] = flags.targets.map((name) => [name, TARGETS[name]]);
  if (flags.beside !== undefined) asked.push(...besides(flags.targets, resolve(flags.beside)));
  for (const [name, start] of asked) {
    let target: Target | undefined;
    try {
      target = await start(surroundings);
      const seconds = await warmUpTarget(bench, target, flags.quick ? WARM_CPU_SECONDS.quick : WARM_CPU_SECONDS.full);
      console.error(`${name}: up and warm after ${seconds.toFixed(1)} s of processor time`);
      targets.push(target);
    } catch (error) {
      // A third-party program that does not start is left out; a failure of Tollgate itself ends the run.
      if (!(error instanceof TargetUnavailable) && !(error instanceof Error && PEERS.has(name))) throw error;
      await target?.stop();
      leftOut.push(`${name}: ${error.message}`);
      console.error(`left out ${name}: ${error.message}`);
    }
  }
  return { targets, leftOut };
}

/**
 * Returns the corresponding targets of another checkout: Tollgate, its variant with a scripted engine inside the agent,
 * or both.
 */
function besides(targets: Flags["targets"], checkout: string): [string, StartTarget][] {
  const scripted: [string, StartTarget] = ["beside-scripted", scriptedTollgateFromCheckout(checkout)];
  if (!targets.includes("tollgate-scripted")) return [["beside", tollgateFromCheckout(checkout)]];
  return targets.includes("tollgate") ? [["beside", tollgateFromCheckout(checkout)], scripted] : [scripted];
}

/**
 * Measures all targets. Every repeat begins with another target, so that a slow drift of the machine affects all alike.
 */
async function measureAll(
  flags: Flags,
  { bench, targets, outDir, facts }: { bench: BenchContext; targets: Target[]; outDir: string; facts: RunConditions },
): Promise<ResultRow[]> {
  const file = join(outDir, "results.jsonl");
  appendFileSync(file, `${JSON.stringify(facts)}\n`);
  const rows: ResultRow[] = [];
  for (const name of flags.scenarios) {
    const full: Scenario = SCENARIOS[name];
    const scenario = flags.quick ? shortenScenario(full) : full;
    const measured = targets
      .filter((target) => scenario.mode !== "paired" || target.name !== "direct")
      .filter((target) => !scenario.stream || target.wholeAnswersOnly !== true);
    if (!flags.quick)
      for (const target of measured)
        await measureTarget(bench, target, { name, scenario: shortenScenario(full), repeat: 0 });
    for (let repeat = 1; repeat <= flags.repeats; repeat++) {
      const from = repeat % measured.length;
      for (const target of [...measured.slice(from), ...measured.slice(0, from)]) {
        const profile = { outDir, name: `${name}-${repeat}` };
        const row = await withProfile(target, profile, () => measureTarget(bench, target, { name, scenario, repeat }));
        appendFileSync(file, `${JSON.stringify(row)}\n`);
        rows.push(row);
        console.error(formatResultLine(row));
      }
    }
  }
  return rows;
}
