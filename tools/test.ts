/**
 * `npm test`: every test that can run on this machine, in two groups so that the end-to-end suites, which boot whole
 * platforms, do not fight the unit tests for the processor. What cannot run here is named at the end.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { ensureServers } from "./servers.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const UNIT = [
  "protocol/src/**/*.test.ts",
  "gateway/src/**/*.test.ts",
  "host/src/**/*.test.ts",
  "console/{src,tools}/**/*.test.ts",
  "tools/**/*.test.ts",
  "bench/**/*.test.ts",
];
const WHOLE = ["e2e/**/*.test.ts"];

/** `npm test -- PATTERN…` runs only these files. */
const chosen = process.argv.slice(2);
const groups = chosen.length > 0 ? [chosen] : [UNIT, WHOLE];

const leftOut = ensureServers();
let failed = false;
for (const group of groups) {
  const concurrency = group === WHOLE ? 1 : 2;
  const result = spawnSync(
    process.execPath,
    ["--test", `--test-concurrency=${concurrency}`, "--test-reporter=spec", "--test-timeout=300000", ...group],
    { cwd: root, stdio: "inherit" },
  );
  failed ||= result.status !== 0;
}
for (const line of leftOut) console.log(line);
process.exit(failed ? 1 : 0);
