/**
 * `npm run sim:hosts -- [--jobs 100000] [--lives 20] [--seed 1]`: computes for each strategy of a host how much it
 * earns in this many jobs, compared with honest work, and after how many jobs it is barred. Exits with an error if a
 * strategy earns more per job than honest work does.
 */
import { parseArgs } from "node:util";
import { calibrateSpotChecks, type HostResult, simulateHost } from "./host-life.ts";
import { STRATEGIES } from "./strategies.ts";

const { values } = parseArgs({
  options: {
    jobs: { type: "string", default: "100000" },
    /** The number of simulated hosts per strategy. The table shows averages over all of them. */
    lives: { type: "string", default: "20" },
    seed: { type: "string", default: "1" },
    /** Part of a strategy's name: only matching strategies and honest work are simulated. */
    only: { type: "string", default: "" },
  },
});
const [jobs, lives, seed] = [Number(values.jobs), Number(values.lives), Number(values.seed)];
const calibration = calibrateSpotChecks(seed);

const profitOf = (all: HostResult[]): number =>
  sum(all, ({ kept, cost }) => kept - cost) / sum(all, (life) => life.jobs);
const sum = (all: HostResult[], of: (life: HostResult) => number): number =>
  all.reduce((total, life) => total + of(life), 0);

const rows = STRATEGIES.filter(({ honest, name }) => honest || name.includes(values.only)).map((strategy) => {
  // A host that is barred permanently serves few jobs, so each simulated host may serve up to `jobs`. A host that
  // returns afterwards serves all its jobs, so the simulated hosts share `jobs` among them.
  const each = strategy.returns === true ? Math.ceil(jobs / lives) : jobs;
  const all = Array.from({ length: lives }, (_, i) =>
    simulateHost(strategy, { jobs: each, seed: seed * 1000 + i, calibration }),
  );
  const after = all.flatMap(({ barred }) => barred.map((one) => one.after)).sort((a, b) => a - b);
  const at = (part: number): string =>
    String(after[Math.min(after.length - 1, Math.floor(part * after.length))] ?? "never");
  const by = [...new Set(all.flatMap(({ barred }) => barred.map((one) => one.by)))].join(", ");
  const share =
    sum(all, (life) => life.tokensChecked) /
    Math.max(
      1,
      sum(all, (life) => life.tokensServed),
    );
  return {
    name: strategy.name,
    isHonest: strategy.honest === true,
    all,
    after,
    by,
    share,
    profit: profitOf(all),
    at,
    uncaught: all.filter(({ barred }) => barred.length === 0).length,
  };
});
const honestProfit = rows[0]?.profit ?? 0;

console.log(
  `Parts of a job's price. A share is 0.70, honest work costs 0.40. ${jobs} jobs, ${lives} hosts of each strategy.\n`,
);
console.log(
  "| Strategy | Jobs served | Kept per job | Withheld per job | Profit per job | Barred after (10 %, median, 90 %) | Never barred | By |",
);
console.log("|---|---|---|---|---|---|---|---|");
for (const { name, all, at, by, profit, uncaught } of rows) {
  const served = sum(all, (life) => life.jobs);
  const per = (of: (life: HostResult) => number): string => (sum(all, of) / served).toFixed(3);
  console.log(
    `| ${name} | ${served} | ${per((life) => life.kept)} | ${per((life) => life.withheld)} | ${profit.toFixed(3)} | ${at(0.1)}, ${at(0.5)}, ${at(0.9)} | ${uncaught} of ${all.length} | ${by || "–"} |`,
  );
}
const [honestRow] = rows;
console.log(
  `\nOf an honest node ${((honestRow?.share ?? 0) * 100).toFixed(2)} % of its tokens are read again by verifiers.`,
);
const wrong = [
  ...rows
    .filter(({ isHonest }) => isHonest)
    .flatMap(({ name, after }) => after.map(() => `a host of "${name}" was barred`)),
  ...rows
    .filter(({ isHonest }) => !isHonest)
    .flatMap(({ name, profit }) => (profit < honestProfit ? [] : [`"${name}" earns more than honest work`])),
];
for (const line of wrong) console.error(line);
process.exit(wrong.length === 0 ? 0 : 1);
