/**
 * `npm test`: every test that can run on this machine, in two groups so that the end-to-end suites, which boot whole
 * platforms, do not fight the unit tests for the processor. All tests that need a database share one server. What cannot run
 * here is named at the end.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { startTestServer } from "../gateway/src/db/testing.ts";
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
const database = process.env["TEST_DATABASE_URL"] === undefined ? await startTestServer() : {};
/** A run starts hundreds of processes that load the same sources: they are stripped of their types and compiled once. */
const compiled = { NODE_COMPILE_CACHE: `${root}node_modules/.cache/compiled` };
let failed = false;
for (const group of groups) {
  const concurrency = group === WHOLE ? 1 : 2;
  const runner = spawn(
    process.execPath,
    ["--test", `--test-concurrency=${concurrency}`, "--test-reporter=spec", "--test-timeout=300000", ...group],
    { cwd: root, stdio: "inherit", env: { ...process.env, ...database, ...compiled } },
  );
  const [code] = await once(runner, "exit");
  failed ||= code !== 0;
}
for (const line of leftOut) console.log(line);
process.exit(failed ? 1 : 0);
