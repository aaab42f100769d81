/** Writes `x.br` and `x.gz` beside every text file of the build, so that the gateway need not compress it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import type { Plugin } from "vite";

const TEXT = /\.(js|css|html|svg)$/;
const BYTES_MIN = 1024;

export function compressFiles(): Plugin {
  return {
    name: "tollgate:compress",
    apply: "build",
    writeBundle({ dir = "" }, bundle) {
      for (const name of Object.keys(bundle)) {
        if (!TEXT.test(name)) continue;
        const file = join(dir, name);
        const bytes = readFileSync(file);
        if (bytes.length < BYTES_MIN) continue;
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
        writeFileSync(`${file}.br`, brotliCompressSync(bytes));
      }
    },
  };
}
