/** Writes the service worker (shell-worker.js) into the build, with the list of files that it caches. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Plugin } from "vite";

const SOURCE = new URL("../shell-worker.js", import.meta.url);
/** Files of public/, whose names contain no hash of their content. */
const PUBLIC = ["/console/favicon.svg"];

export function serviceWorkerPlugin(): Plugin {
  return {
    name: "tollgate:shell-worker",
    apply: "build",
    // Runs after Vite has generated index.html.
    enforce: "post",
    generateBundle(_options, bundle) {
      const assets = Object.keys(bundle).filter((name) => name.startsWith("assets/"));
      const entry = Object.values(bundle).find((part) => part.type === "chunk" && part.isEntry);
      if (entry === undefined) this.error("the build has no entry");
      this.emitFile({
        type: "asset",
        fileName: "shell-worker.js",
        source: buildServiceWorker(readFileSync(SOURCE, "utf8"), entry.fileName, assets),
      });
    },
  };
}

/**
 * Inserts the list of the build's files into the worker's code. Also inserts a hash of the code and the list as the
 * build's name, so that browsers see a new worker after every change.
 */
export function buildServiceWorker(source: string, entry: string, assets: string[]): string {
  const files = [...PUBLIC, ...assets.map((name) => `/console/${name}`).sort()];
  const build = createHash("sha256").update(source).update(files.join("\n")).digest("hex").slice(0, 16);
  return source
    .replace('"__BUILD__"', JSON.stringify(build))
    .replace('"__ENTRY__"', JSON.stringify(entry))
    .replace('["__FILES__"]', JSON.stringify(files));
}
