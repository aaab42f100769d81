/** `npm run check`: types, lint and format, and the tests that hold the structure of the sources and the API documents. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

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

for (const [command, args] of steps) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(1);
}
console.log("check: types, lint, format, imports and API documents are in order");
