/** Fails the build when the first page needs more than a slow connection should have to load; prints the sizes. */
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Plugin, Rollup } from "vite";

const FIRST_PAGE_GZIP_BYTES_MAX = 250_000;
/** The page that somebody who is signed in sees first. */
const FIRST_PAGE = "pages/overview/overview-page.tsx";

interface Script {
  file: string;
  imports: string[];
  facade: string | null;
  gzipBytes: number;
}

export function checkSizes(): Plugin {
  return {
    name: "tollgate:sizes",
    apply: "build",
    writeBundle(_options, bundle) {
      const scripts = Object.values(bundle).flatMap((part) => (part.type === "chunk" ? [scriptOf(part)] : []));
      const byFile = new Map(scripts.map((script) => [script.file, script]));
      for (const { file, gzipBytes } of scripts.toSorted((a, b) => b.gzipBytes - a.gzipBytes)) {
        console.log(`  ${kilobytes(gzipBytes).padStart(9)}  ${file}`);
      }
      const firstPage = scripts.filter(
        ({ facade }) => facade !== null && (facade.endsWith("index.html") || facade.endsWith(FIRST_PAGE)),
      );
      if (firstPage.length !== 2) this.error(`the first page was not found: index.html and ${FIRST_PAGE}`);
      const needed = reach(firstPage, byFile);
      const total = needed.reduce((sum, { gzipBytes }) => sum + gzipBytes, 0);
      console.log(
        `  first page: ${kilobytes(total)} of JavaScript, gzip (at most ${kilobytes(FIRST_PAGE_GZIP_BYTES_MAX)})`,
      );
      if (total > FIRST_PAGE_GZIP_BYTES_MAX) this.error(`the first page loads ${kilobytes(total)} of JavaScript`);
    },
  };
}

/** These scripts and everything they import at once. */
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
  return { file: fileName, imports, facade: facadeModuleId, gzipBytes: gzipSync(code).length };
}

const kilobytes = (bytes: number): string => `${(bytes / 1000).toFixed(1)} KB`;
