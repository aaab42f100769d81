/**
 * `npm run check`: types, lint and format, the tests that hold the structure of the sources and the API documents, and the files in
 * deploy/, while those run. What cannot be checked here is named.
 *
 * `--quick` leaves out what the tests of `npm run test:quick` or `npm test` do as well: these tests, and the files in deploy/.
 * `--no-tests` leaves out the tests alone, for a run that is followed by `npm test`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { checkDeployFiles } from "./deploy-files.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const bin = (name: string): string => `${root}node_modules/.bin/${name}`;
const isQuick = process.argv.includes("--quick");
const isWithoutTests = isQuick || process.argv.includes("--no-tests");
/** Types are checked again only in files that a change can concern: a tenth of the processor time. */
const types = (project: string, kept: string): [string, string[]] => [
  bin("tsc"),
  ["-p", project, "--incremental", "--tsBuildInfoFile", `${root}node_modules/.cache/types/${kept}.json`],
];
const statically: [string, string[]][] = [
  types(".", "all"),
  types("console", "console"),
  // What goes into the npm package uses nothing that Node 20 lacks.
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
