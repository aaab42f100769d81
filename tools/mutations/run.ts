/**
 * `npm run mutations [-- WORD…]`: plants each bug of mutations.ts in turn, runs the test that must notice it, and
 * prints a table. If the test passes despite the bug, the tests have a gap. `npm test` shows that the tests pass
 * without the bugs.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { MUTATIONS } from "./mutations.ts";

/** Ends a test that hangs because of its bug. */
const TIMEOUT_MS = 180_000;

const root = fileURLToPath(new URL("../..", import.meta.url));
const wanted = process.argv.slice(2);
const chosen = MUTATIONS.filter(({ name }) => wanted.length === 0 || wanted.some((word) => name.includes(word)));
if (chosen.length === 0) {
  console.error(
    `no bug is called ${wanted.join(" ")}; there are:\n${MUTATIONS.map(({ name }) => `  ${name}`).join("\n")}`,
  );
  process.exit(2);
}
// A database created before the bug was planted would not contain it.
const { TEST_DATABASE_URL: _, TEST_DATABASE_TEMPLATE: __, ...env } = process.env;
let missed = 0;
console.log("| Bug | Test file | Test | Result |\n|---|---|---|---|");
for (const bug of chosen) {
  const { name, test, title } = bug;
  const only = `--test-name-pattern=${title.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}`;
  const args = ["--import", "./tools/mutations/plant-bug.ts", only, "--test-reporter=tap", test];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: "utf8",
    env: { ...env, PLANTED_BUG: JSON.stringify(bug) },
    timeout: TIMEOUT_MS,
  });
  // In TAP, special characters in titles are escaped with backslashes.
  const failed = stdout
    .split("\n")
    .some((line) => /^ *not ok /.test(line) && line.replaceAll("\\", "").endsWith(title));
  const found = status === 1 && failed;
  if (!found) missed += 1;
  const result = found ? "noticed" : `MISSED (status ${status}) ${stderr.trim().split("\n").slice(0, 4).join(" ")}`;
  console.log(`| ${name} | ${test} | ${title} | ${result} |`);
}
console.log(`\n${chosen.length - missed} of ${chosen.length} bugs noticed`);
process.exitCode = missed === 0 ? 0 : 1;
