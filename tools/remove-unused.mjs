// Removes what packages carry and nothing here reads: 135 MB of an install. Node's C headers and the sources of llama.cpp are for
// compilers, and nothing is compiled; source maps are for debuggers of other people's code; the style sheets of highlight.js are
// not ours, and its second copy for bundlers is not bundled.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

export function removeUnused(root) {
  const modules = join(root, "node_modules");
  rmSync(join(modules, "node-llama-cpp", "llama", "gitRelease.bundle"), { force: true });
  for (const folder of ["scss", "styles", "es"]) {
    rmSync(join(modules, "highlight.js", folder), { recursive: true, force: true });
  }
  const ofNode = join(modules, "node", "node_modules");
  for (const entry of existsSync(ofNode) ? readdirSync(ofNode, { withFileTypes: true }) : []) {
    if (entry.isDirectory()) rmSync(join(ofNode, entry.name, "include"), { recursive: true, force: true });
  }
  removeSourceMaps(modules);
}

function removeSourceMaps(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeSourceMaps(join(folder, entry.name));
    else if (entry.isFile() && /\.(js|cjs|mjs|ts|cts|mts|css)\.map$/.test(entry.name)) rmSync(join(folder, entry.name));
  }
}
