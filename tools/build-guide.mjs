// Builds the docs that the gateway serves under /docs, as `npm run docs` does, when they are missing or older than what they are made
// of. `npm start` and `npm test` run it: a build takes about two seconds. One that fails stops nothing: the gateway works without its
// docs, and says so.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const stamp = join(root, "docs", "dist", ".sources");
/** Folders with all that is below them, and files. Of deploy/ not what prepare.sh makes: it may not be readable. */
const SOURCES = {
  docs: /\.(md|webp|svg)$/,
  "deploy/README.md": /./,
  "deploy/compose.yaml": /./,
  "deploy/prepare.sh": /./,
  "deploy/grafana": /./,
  "deploy/helm": /./,
  "deploy/image": /./,
  "deploy/prometheus": /./,
  "deploy/proxies": /./,
  "deploy/systemd": /./,
  examples: /./,
  "tools/guide": /\.(ts|js)$/,
  "console/src/ui/markdown": /\.ts$/,
  "gateway/src/site/reference": /\.ts$/,
  "api/src": /\.ts$/,
  "CHANGELOG.md": /./,
  "package-lock.json": /./,
};
const NOT_READ = /(^|\/)(dist|node_modules)\//;

const hash = createHash("sha256");
for (const [path, wanted] of Object.entries(SOURCES)) {
  const isFolder = statSync(join(root, path)).isDirectory();
  const names = isFolder ? readdirSync(join(root, path), { recursive: true }).map(String).sort() : [""];
  for (const name of names) {
    const file = join(root, path, name);
    if (isFolder && (!wanted.test(name) || NOT_READ.test(name.split(sep).join("/")) || !statSync(file).isFile()))
      continue;
    hash.update(`${path}/${name}\0`).update(readFileSync(file));
  }
}
const wanted = hash.digest("hex");
if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) process.exit(0);

const pinnedNode = join(root, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node");
const node = existsSync(pinnedNode) ? pinnedNode : process.execPath;
const { status } = spawnSync(node, [join(root, "tools", "guide", "build.ts"), wanted], { stdio: "inherit" });
if (status !== 0) console.error("tollgate: the docs could not be built; everything else works. See why: npm run docs");
