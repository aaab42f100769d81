/**
 * `npm run test:full`: runs everything, for a night: all suites, the oldest servers, the simulator, an hour of faults,
 * long fuzzing, real clients and real engines. Continues after a step that fails, and ends with a table. `npm run
 * test:full -- STEP…` runs some steps.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const STEPS: Record<string, string[]> = {
  check: ["run", "check"],
  tests: ["test", "--", "unit", "journeys", "processes", "nightly", "oldest", "postgres"],
  sim: ["run", "sim", "--", "--seeds", "1-200", "--fresh", "1000"],
  "sim:replay": ["run", "sim:replay"],
  "sim:hosts": ["run", "sim:hosts"],
  "sim:mutations": ["run", "sim:mutations"],
  mutations: ["run", "mutations"],
  chaos: ["run", "chaos", "--", "--minutes", "60", "--strict"],
  histories: ["run", "histories", "--", "--seconds", "600", "--controls"],
  failovers: ["run", "failovers", "--", "--failovers", "20", "--switchovers", "20", "--unfenced", "2"],
  fuzz: ["run", "fuzz", "--", "--requests", "100000"],
  "fuzz:plane": ["run", "fuzz:plane", "--", "--frames", "1000000"],
  clients: ["run", "clients"],
  engines: ["run", "engines"],
};

/** Every night uses a new random seed, which is printed so that the run can be repeated. */
process.env["TEST_SEED"] ??= String(Math.floor(Math.random() * 2 ** 31));
console.log(`TEST_SEED=${process.env["TEST_SEED"]}`);
const root = fileURLToPath(new URL("..", import.meta.url));
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => STEPS[name] === undefined);
if (unknown.length > 0) {
  console.error(`There is no step ${unknown.join(", ")}. The steps are ${Object.keys(STEPS).join(", ")}.`);
  process.exit(2);
}
const results: { step: string; status: number; minutes: string }[] = [];
for (const [step, args] of Object.entries(STEPS)) {
  if (wanted.length > 0 && !wanted.includes(step)) continue;
  console.log(`\n== ${step}: npm ${args.join(" ")}`);
  const begun = performance.now();
  const [status] = await once(spawn("npm", args, { cwd: root, stdio: "inherit" }), "exit");
  results.push({ step, status: Number(status ?? 1), minutes: ((performance.now() - begun) / 60_000).toFixed(1) });
}
console.log("\n| Step | Result | Minutes |\n|---|---|---|");
for (const { step, status, minutes } of results)
  console.log(`| ${step} | ${status === 0 ? "passed" : "FAILED"} | ${minutes} |`);
process.exit(results.some(({ status }) => status !== 0) ? 1 : 0);
