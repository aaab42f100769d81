/** Fails the build if the first page is too large for a slow connection, and prints the sizes. */
import { brotliCompressSync } from "node:zlib";
import type { Plugin, Rollup } from "vite";

/** The maximum size after compression with Brotli (`compress-files.ts`), which all supported browsers accept. */
const FIRST_PAGE_BYTES_MAX = 200_000;
/** The first page that a signed-in user sees. */
const FIRST_PAGE = "pages/overview/overview-page.tsx";
const OTHERS = /(\.(css|html)|early-[\w-]+\.js)$/;

interface Script {
  file: string;
  imports: string[];
  facade: string | null;
  bytes: number;
}

export function checkDownloadSize(): Plugin {
  return {
    name: "tollgate:sizes",
    apply: "build",
    writeBundle(_options, bundle) {
      const scripts = Object.values(bundle).flatMap((part) => (part.type === "chunk" ? [scriptOf(part)] : []));
      const byFile = new Map(scripts.map((script) => [script.file, script]));
      for (const { file, bytes } of scripts.toSorted((a, b) => b.bytes - a.bytes)) {
        console.log(`  ${kilobytes(bytes).padStart(9)}  ${file}`);
      }
      const firstPage = scripts.filter(
        ({ facade }) => facade !== null && (facade.endsWith("index.html") || facade.endsWith(FIRST_PAGE)),
      );
      if (firstPage.length !== 2) this.error(`the first page was not found: index.html and ${FIRST_PAGE}`);
      const needed = reach(firstPage, byFile);
      const scriptBytes = needed.reduce((sum, { bytes }) => sum + bytes, 0);
      const total = scriptBytes + othersOf(Object.values(bundle));
      console.log(
        `  first page: ${kilobytes(total)} compressed (at most ${kilobytes(FIRST_PAGE_BYTES_MAX)}), ${kilobytes(scriptBytes)} of it JavaScript`,
      );
      if (total > FIRST_PAGE_BYTES_MAX) this.error(`the first page loads ${kilobytes(total)}`);
    },
  };
}

/** The size of the document, the style sheet and the early script, which every page loads. */
function othersOf(bundle: Rollup.OutputBundle[string][]): number {
  const others = bundle.flatMap((part) => (part.type === "asset" && OTHERS.test(part.fileName) ? [part.source] : []));
  return others.reduce((sum, source) => sum + brotliCompressSync(source).length, 0);
}

/** These scripts and all scripts that they import statically. */
function reach(from: Script[], byFile: Map<string, Script>): Script[] {
  const found = new Set<Script>();
  const visit = (script: Script): void => {
    if (found.has(script)) return;
    found.add(script);
    for (const file of script.imports) {
      const next = byFile.get(file);
      if (next !== undefined) visit(next);
    }
  };
  for (const script of from) visit(script);
  return [...found];
}

function scriptOf({ fileName, imports, facadeModuleId, code }: Rollup.OutputChunk): Script {
  return { file: fileName, imports, facade: facadeModuleId, bytes: brotliCompressSync(code).length };
}

const kilobytes = (bytes: number): string => `${(bytes / 1000).toFixed(1)} KB`;
