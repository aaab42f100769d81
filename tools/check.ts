/**
 * `npm run check`: types, lint and format, the tests that hold the structure of the sources and the API documents, and the files in
 * deploy/, while those run. What cannot be checked here is named.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { checkDeployFiles } from "./deploy-files.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const bin = (name: string): string => `${root}node_modules/.bin/${name}`;
const steps: [string, string[]][] = [
  [bin("tsc"), ["-p", "."]],
  [bin("tsc"), ["-p", "console"]],
  [bin("biome"), ["check", "."]],
  [
    process.execPath,
    [
      "--test",
      "--test-reporter=dot",
      "tools/**/*.test.ts",
      "console/tools/*.test.ts",
      "api/src/**/*.test.ts",
      "gateway/src/http/reference/*.test.ts",
    ],
  ],
];

const checkingDeployFiles = checkDeployFiles();
for (const [command, args] of steps) {
  const [status] = await once(spawn(command, args, { cwd: root, stdio: "inherit" }), "exit");
  if (status !== 0) process.exit(1);
}
const { wrong, leftOut } = await checkingDeployFiles;
for (const line of leftOut) console.log(line);
for (const line of wrong) console.error(line);
if (wrong.length > 0) process.exit(1);
console.log("check: types, lint, format, imports, API documents and deployment files are in order");
