/**
 * Groups test files that can share a process. Starting a process and loading what every file loads (the server, the
 * schemas, sign-in) takes longer than the tests of most files. So files that cannot disturb each other run one after
 * the other in a few processes, each file as a suite with its own hooks. A file may share a process if it contains no
 * word that concerns the process itself.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** A folder of this run only, because another run may be in progress. */
const FOLDER = fileURLToPath(new URL(`../node_modules/.cache/test-batches/${process.pid}/`, import.meta.url));

/** Matches code that changes or measures its process, or uses engines, whose libraries are never unloaded. */
const NEEDS_ITS_OWN =
  /\bprocess\.(?!execPath|env\.TEST_SEED|platform)|\b(globalThis|localStorage)\b|child_process|worker_threads|setDefaultCACertificates|\bmock\.timers|llama-?[cC]pp\b/;

/**
 * Simulations run in processes of their own. They forbid real clocks and timers in the whole process, and a connection
 * that another file left open would use them.
 */
const SIMULATED = /^sim\//;

interface Plan {
  /** Files that each run in a separate process, because they may not share one or because there are no batches. */
  alone: string[];
  /**
   * The batched files by the entry file that loads them; the test runner runs an entry file like any other test file.
   */
  batches: Map<string, string[]>;
}

export function planBatches(files: string[], count: number, folder = FOLDER): Plan {
  if (count === 0) return { alone: files, batches: new Map() };
  const alone = files.filter((file) => SIMULATED.test(file) || NEEDS_ITS_OWN.test(readFileSync(file, "utf8")));
  const shared = files.filter((file) => !alone.includes(file));
  mkdirSync(folder, { recursive: true });
  const batches = new Map<string, string[]>();
  for (let i = 0; i < count; i++) {
    // Files are sorted slowest first, so distributing them in turn gives batches of about the same duration.
    const dealt = shared.filter((_, index) => index % count === i);
    if (dealt.length === 0) continue;
    const entry = join(folder, `batch-${i + 1}.mjs`);
    const suites = dealt.map((file) => {
      const address = JSON.stringify(pathToFileURL(resolve(file)).href);
      return `describe(${JSON.stringify(file)}, async () => { await import(${address}); });\n`;
    });
    writeFileSync(entry, ['import { describe } from "node:test";\n', ...suites].join(""));
    batches.set(entry, dealt);
  }
  return { alone, batches };
}

export function deleteBatchFiles(): void {
  rmSync(FOLDER, { recursive: true, force: true });
}
