// Installs what the lockfile names when it is not installed yet, so that `npm start` and `npm test` are the only commands
// a fresh clone needs. Plain JavaScript: it runs on whatever Node the machine has.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const at = (path) => `${root}${path}`;
const stamp = at("node_modules/.tollgate-install");

// The platform is part of it: a checkout may be shared between machines that need other binaries.
const wanted = createHash("sha256")
  .update(readFileSync(at("package-lock.json")))
  .update(`${process.platform}-${process.arch}`)
  .digest("hex");
if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) process.exit(0);

console.log("  installing dependencies (once, about 780 MB)…");
const started = Date.now();
const result = spawnSync("npm", ["ci", "--loglevel=error", "--no-audit", "--no-fund"], {
  cwd: root,
  stdio: ["ignore", "ignore", "inherit"],
  shell: process.platform === "win32",
  // Its CPU build comes as a package; nothing is to be compiled or downloaded.
  env: { ...process.env, NODE_LLAMA_CPP_SKIP_DOWNLOAD: "true" },
});
if (result.error !== undefined || result.status !== 0) {
  console.error(
    `tollgate: npm ci failed${result.error === undefined ? "" : ` (${result.error.message})`}. Run it by hand to see why.`,
  );
  process.exit(1);
}
writeFileSync(stamp, wanted);
console.log(`  installed in ${Math.round((Date.now() - started) / 1000)} s`);
