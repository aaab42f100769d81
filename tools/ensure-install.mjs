// Installs what the lockfile names when it is not installed yet, so that `npm start` and `npm test` are the only commands
// a fresh clone needs. Two levels: with `start`, what a platform runs on and its console is built with; without a word all of
// it, tests and checks too. The second comes on top of the first. Plain JavaScript: it runs on whatever Node the machine has.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { nextInstall } from "./install-levels.mjs";
import { removeUnused } from "./remove-unused.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const at = (path) => `${root}${path}`;
const stamp = at("node_modules/.tollgate-install");

// The platform is part of it: a checkout may be shared between machines that need other binaries.
const lockfile = createHash("sha256")
  .update(readFileSync(at("package-lock.json")))
  .update(`${process.platform}-${process.arch}`)
  .digest("hex");
const level = process.argv[2] === "start" ? "start" : "all";
const step = nextInstall({ installed: existsSync(stamp) ? readFileSync(stamp, "utf8") : undefined, lockfile, level });
if (step === undefined) process.exit(0);

console.log(`  ${step.saying}…`);
const started = Date.now();
// The lockfile names every byte, so what npm has kept needs no asking whether it is still the newest. `node` is installed by an npm of
// its own, which takes these flags over.
const result = spawnSync("npm", [...step.npm, "--loglevel=error", "--no-audit", "--no-fund", "--prefer-offline"], {
  cwd: root,
  stdio: ["ignore", "ignore", "inherit"],
  shell: process.platform === "win32",
  // Its CPU build comes as a package; nothing is to be compiled or downloaded.
  env: { ...process.env, NODE_LLAMA_CPP_SKIP_DOWNLOAD: "true" },
});
if (result.error !== undefined || result.status !== 0) {
  const why = result.error === undefined ? "" : ` (${result.error.message})`;
  console.error(`tollgate: npm ${step.npm.join(" ")} failed${why}. Run it by hand to see why.`);
  process.exit(1);
}
removeUnused(root);
writeFileSync(stamp, step.stamp);
console.log(`  installed in ${Math.round((Date.now() - started) / 1000)} s`);
