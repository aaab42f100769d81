/**
 * `npm run sim:mutations [-- NAME…]`: plants each bug in turn, runs the simulated worlds of CI until a rule of the
 * auditor fails, and prints which rule it was and after how many worlds. A bug that breaks no rule is a gap in the
 * auditor.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { MUTATIONS } from "./mutations.ts";

/** Every bug must break a rule within this many worlds, which are those that CI runs every time. */
const SEEDS_MAX = 250;
const WORLDS = ["--seeds", `1-${SEEDS_MAX}`, "--minutes", "1", "--once", "--quiet"];

const root = fileURLToPath(new URL("../..", import.meta.url));
const wanted = process.argv.slice(2);
const chosen = MUTATIONS.filter(({ name }) => wanted.length === 0 || wanted.some((word) => name.includes(word)));
if (chosen.length === 0) {
  console.error(
    `no bug is called ${wanted.join(" ")}; there are:\n${MUTATIONS.map(({ name }) => `  ${name}`).join("\n")}`,
  );
  process.exit(2);
}
let missed = 0;
console.log("| Bug | Noticed by the rule | Worlds |\n|---|---|---|");
for (const bug of chosen) {
  const { name } = bug;
  const args = ["--import", "./tools/mutations/plant-bug.ts", "sim/run.ts", ...WORLDS];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, PLANTED_BUG: JSON.stringify(bug) },
  });
  const found = /^seed (\d+) fails at step \d+: (.*?): /m.exec(stdout);
  if (status === 1 && found !== null) console.log(`| ${name} | ${found[2]} | ${found[1]} |`);
  else {
    missed += 1;
    console.log(
      `| ${name} | MISSED (status ${status}) ${stderr.trim().split("\n").slice(0, 4).join(" ")} | ${SEEDS_MAX} |`,
    );
  }
}
console.log(`\n${chosen.length - missed} of ${chosen.length} found within ${SEEDS_MAX} seeds`);
process.exitCode = missed === 0 ? 0 : 1;
