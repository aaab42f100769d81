/**
 * Small test files that run in one process. Starting a process and loading what every file loads takes longer than the
 * tests of most files, so those that cannot disturb each other share one: files that start nothing, hook into nothing and
 * touch nothing that belongs to the process. Told by the words they do not use; all others have a process of their own.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** Of this run alone: another may be under way. */
const FOLDER = fileURLToPath(new URL(`../node_modules/.cache/test-batches/${process.pid}/`, import.meta.url));

/** Hooks of a file would become hooks of its batch; the rest lives longer than a test, or is shared by the process. */
const NEEDS_ITS_OWN =
  /\b(before|after|beforeEach|afterEach|mock|process|globalThis|spawn|fork|exec|Worker|listen|createServer|stubServer|open(Test|Metering)\w*|\w*Engine)\(|\bprocess\.|\bglobalThis\.|child_process|worker_threads/;

interface Plan {
  /** Files that run in processes of their own. */
  alone: string[];
  /** Files by the entry that loads them; an entry is a file that the runner runs like any other. */
  batches: Map<string, string[]>;
}

export function planBatches(files: string[], count: number, folder = FOLDER): Plan {
  if (count === 0) return { alone: files, batches: new Map() };
  const alone = files.filter((file) => NEEDS_ITS_OWN.test(readFileSync(file, "utf8")));
  const shared = files.filter((file) => !alone.includes(file));
  mkdirSync(folder, { recursive: true });
  const batches = new Map<string, string[]>();
  for (let i = 0; i < count; i++) {
    // Files come slowest first: dealt out in turns they make batches of about the same length.
    const dealt = shared.filter((_, index) => index % count === i);
    if (dealt.length === 0) continue;
    const entry = join(folder, `batch-${i + 1}.mjs`);
    const imports = dealt.map((file) => `await import(${JSON.stringify(pathToFileURL(resolve(file)).href)});\n`);
    writeFileSync(entry, imports.join(""));
    batches.set(entry, dealt);
  }
  return { alone, batches };
}

export function removeBatches(): void {
  rmSync(FOLDER, { recursive: true, force: true });
}
