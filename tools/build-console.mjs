// Builds the web console when its build is missing or older than its sources. `npm start` and `npm test` run it: a build
// takes about ten seconds, once. A build that fails stops nothing: the gateway works without its console, and says so.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { replaceFolder } from "./replace-folder.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const consoleDir = join(root, "console");
const dist = join(consoleDir, "dist");
const stamp = join(dist, ".sources");
const SOURCES = ["src", "public", "tools", "index.html", "package.json", "shell-worker.js", "vite.config.ts"];

const wanted = hashOfSources();
if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) process.exit(0);

console.log("  building the console (once)…");
const started = Date.now();
const pinnedNode = join(root, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node");
// Built beside and then put in place: a build that fails, or is under way, leaves the one there is alone.
const fresh = join(consoleDir, "node_modules", `.build-${process.pid}`);
const result = spawnSync(
  existsSync(pinnedNode) ? pinnedNode : process.execPath,
  [join(root, "node_modules", "vite", "bin", "vite.js"), "build", "--logLevel", "error", "--outDir", fresh],
  { cwd: consoleDir, encoding: "utf8" },
);
if (result.status === 0) {
  writeFileSync(join(fresh, ".sources"), wanted);
  replaceFolder(dist, fresh);
  console.log(`  built the console in ${Math.round((Date.now() - started) / 1000)} s`);
} else {
  rmSync(fresh, { recursive: true, force: true });
  const why = result.error?.message ?? `${result.stdout}${result.stderr}`.trim();
  console.error(
    `${why}\ntollgate: the console could not be built; everything else works. See why: npm run build -w console`,
  );
}

/** Of the lockfile too: another version of a library is another build. */
function hashOfSources() {
  const hash = createHash("sha256").update(readFileSync(join(root, "package-lock.json")));
  const names = SOURCES.flatMap((name) => {
    const path = join(consoleDir, name);
    if (name.includes(".")) return [path];
    const entries = readdirSync(path, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  });
  for (const path of names.filter((name) => !name.includes(".test.")).sort()) {
    hash.update(relative(consoleDir, path)).update("\0").update(readFileSync(path)).update("\0");
  }
  return hash.digest("hex");
}
