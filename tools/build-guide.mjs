// Builds the guide that the gateway serves under /docs/guide, as `npm run docs` does, when it is missing or older than what it is made
// of. `npm start` and `npm test` run it: a build takes about a second. One that fails stops nothing: the gateway works without its
// guide, and says so.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const stamp = join(root, "docs", "dist", ".sources");
const SOURCES = {
  docs: /\.md$/,
  "docs/operators": /\.md$/,
  "docs/pictures": /./,
  deploy: /^README\.md$/,
  "tools/guide": /\.ts$/,
  "console/src/ui/markdown": /\.ts$/,
  console: /^package\.json$/,
  "gateway/src/site/reference": /^(documents|frame|html|tabs)\.ts$/,
};

const hash = createHash("sha256");
for (const [folder, wanted] of Object.entries(SOURCES)) {
  for (const name of readdirSync(join(root, folder)).sort()) {
    if (wanted.test(name))
      hash
        .update(`${folder}/${name}`)
        .update("\0")
        .update(readFileSync(join(root, folder, name)));
  }
}
const wanted = hash.digest("hex");
if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) process.exit(0);

const pinnedNode = join(root, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node");
const node = existsSync(pinnedNode) ? pinnedNode : process.execPath;
const { status } = spawnSync(node, [join(root, "tools", "guide", "build.ts"), "--quiet"], { stdio: "inherit" });
if (status === 0) writeFileSync(stamp, wanted);
else console.error("tollgate: the guide could not be built; everything else works. See why: npm run docs");
