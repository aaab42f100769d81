/**
 * Adds the early script (src/early/early-script.ts) to the build: a small file that loads before all others and contains the
 * names of each page's code files.
 */
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { build, type Plugin, type Rollup } from "vite";
import { PREFETCHED_PAGES } from "../src/early/prefetched-requests.ts";

const ENTRY = fileURLToPath(new URL("../src/early/early-script.ts", import.meta.url));

export function earlyScript(): Plugin {
  return {
    name: "tollgate:early-script",
    apply: "build",
    // Runs after Vite has generated index.html.
    enforce: "post",
    async generateBundle(_options, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") this.error("the build has no page");
      const source = await scriptOf(collectPageCode(bundle));
      const fileName = `assets/early-${createHash("sha256").update(source).digest("base64url").slice(0, 8)}.js`;
      this.emitFile({ type: "asset", fileName, source });
      page.source = insertScript(String(page.source), `/console/${fileName}`);
    },
  };
}

/** Inserted first in the head, so that the script runs while the other files load. */
export function insertScript(page: string, address: string): string {
  const first = page.indexOf("<script");
  if (first < 0) throw new Error("the page has no script to stand before");
  return `${page.slice(0, first)}<script src="${address}"></script>\n    ${page.slice(first)}`;
}

type Bundle = Record<
  string,
  Pick<Rollup.OutputChunk, "type" | "imports" | "facadeModuleId" | "isEntry"> | { type: "asset" }
>;

/** For each page with early requests, its code files except those that the document names. */
export function collectPageCode(bundle: Bundle): Record<string, string[]> {
  const chunks = Object.entries(bundle).flatMap(([file, part]) => (part.type === "chunk" ? [{ file, ...part }] : []));
  const reach = (file: string, found = new Set<string>()): Set<string> => {
    if (found.has(file)) return found;
    found.add(file);
    for (const next of chunks.find((chunk) => chunk.file === file)?.imports ?? []) reach(next, found);
    return found;
  };
  const named = new Set(chunks.filter(({ isEntry }) => isEntry).flatMap(({ file }) => [...reach(file)]));
  return Object.fromEntries(
    Object.values(PREFETCHED_PAGES).map(({ code }) => {
      const own = chunks.find(({ facadeModuleId }) => facadeModuleId?.endsWith(`/src/${code}`));
      if (own === undefined) throw new Error(`the build has no page ${code}`);
      return [code, [...reach(own.file)].filter((file) => !named.has(file)).map((file) => `/console/${file}`)];
    }),
  );
}

async function scriptOf(code: Record<string, string[]>): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: "error",
    define: { CODE_OF_PAGES: JSON.stringify(code) },
    build: {
      write: false,
      target: "es2023",
      rolldownOptions: { input: ENTRY, output: { format: "iife" } },
    },
  });
  const [output] = [built].flat();
  if (output === undefined || !("output" in output)) throw new Error("the early script was not built");
  const [script, ...others] = output.output;
  if (others.length > 0) throw new Error("the early script must be one file");
  return script.code;
}
