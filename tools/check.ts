/**
 * `npm run check`: checks types, lint and format, runs the tests of the sources' structure and of the API documents,
 * and meanwhile checks the files in deploy/. Lists what cannot be checked on this machine.
 *
 * `--quick` leaves out what `npm run test:quick` and `npm test` check too: the tests, and the files in deploy/.
 * `--no-tests` leaves out only the tests, for a run that is followed by `npm test`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { checkDeployFiles } from "./deploy-files.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const bin = (name: string): string => `${root}node_modules/.bin/${name}`;
const isQuick = process.argv.includes("--quick");
const isWithoutTests = isQuick || process.argv.includes("--no-tests");
/** Incremental: TypeScript checks only files that a change can affect, in a tenth of the processor time. */
const types = (project: string, kept: string): [string, string[]] => [
  bin("tsc"),
  ["-p", project, "--incremental", "--tsBuildInfoFile", `${root}node_modules/.cache/types/${kept}.json`],
];
const statically: [string, string[]][] = [
  types(".", "all"),
  types("console", "console"),
  // The code of the npm package `tollgate-host` may only use what Node 20 provides.
  types("host/tsconfig.package.json", "host-package"),
  [bin("biome"), ["check", "."]],
];
const structure: [string, string[]] = [
  process.execPath,
  [
    ...["--test", "--test-reporter=dot", "tools/**/*.test.ts", "console/tools/*.test.ts", "api/src/**/*.test.ts"],
    ...["gateway/src/site/reference/*.test.ts", "gateway/tools/*.test.ts"],
  ],
];

const checkingDeployFiles = isQuick ? Promise.resolve({ wrong: [], leftOut: [] }) : checkDeployFiles();
for (const [command, args] of isWithoutTests ? statically : [...statically, structure]) {
  const [status] = await once(spawn(command, args, { cwd: root, stdio: "inherit" }), "exit");
  if (status !== 0) process.exit(1);
}
const { wrong, leftOut } = await checkingDeployFiles;
for (const line of leftOut) console.log(line);
for (const line of wrong) console.error(line);
if (wrong.length > 0) process.exit(1);
const checked = [
  ...["types", "lint", "format"],
  ...(isWithoutTests ? [] : ["imports", "API documents"]),
  ...(isQuick ? [] : ["deployment files"]),
];
console.log(`check: ${checked.join(", ")} are in order`);
