/** Opens all tokenizers and returns their meters. Counts short prompts immediately and long ones on a worker thread. */
import { availableParallelism } from "node:os";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Log } from "../base/log.ts";
import type { WorkerData, WorkerJob } from "./counting-worker.ts";
import { openPromptCounter } from "./prompt-counter.ts";
import { estimatePromptCodeUnits, packPrompt } from "./prompt-for-worker.ts";
import type { PromptCount, TokenMeter } from "./token-meter.ts";
import { loadTables, TOKENIZER_NAMES, TOKENIZERS, type TokenizerName, type TokenizerTables } from "./tokenizers.ts";
import { WorkerPool } from "./worker-pool.ts";

/** The longest prompt, in UTF-16 units, that is counted on the event loop. */
const INLINE_UNITS_MAX = 16 * 1024;
const WAITING_MAX = 256;
const WAITING_UNITS_MAX = 64 * 1024 * 1024;

interface MeteringOptions {
  log: Log;
  /** The most worker threads for long prompts. */
  workersMax?: number;
}

export interface TokenMetering {
  meter(tokenizerName: string): TokenMeter | undefined;
  readonly names: readonly string[];
  /** The tokenizers' tables in shared memory, so that other threads can count too. */
  readonly tables: Map<TokenizerName, TokenizerTables>;
  close(): Promise<void>;
}

export async function openTokenMetering(options: MeteringOptions): Promise<TokenMetering> {
  const { log, workersMax = Math.min(2, availableParallelism()) } = options;
  const tables = new Map<TokenizerName, TokenizerTables>();
  for (const name of TOKENIZER_NAMES) tables.set(name, await loadTables(name));
  const pool = new WorkerPool<PromptCount>({
    startWorker: () => startMeteringWorker({ tables }),
    workersMax,
    waitingMax: WAITING_MAX,
    waitingUnitsMax: WAITING_UNITS_MAX,
    onCrash: (error) => log.error({ err: error }, "a worker thread that counts tokens crashed"),
  });
  const meters = new Map<string, TokenMeter>();
  for (const [name, found] of tables) meters.set(name, openTokenMeter(name, found, pool));
  return {
    meter: (name) => meters.get(name),
    names: TOKENIZER_NAMES,
    tables,
    close: () => pool.close(),
  };
}

function startMeteringWorker(data: WorkerData): Worker {
  // The worker must not inherit the process's own Node.js flags.
  const options = { workerData: data, name: "metering", execArgv: [] };
  // Takes this file's extension, because both files are JavaScript in the npm package.
  const file = `./counting-worker${extname(import.meta.filename)}`;
  return new Worker(new URL(file, import.meta.url), options);
}

/** `pool`: the worker threads. Null: counts on the calling thread. */
export function openTokenMeter(
  name: TokenizerName,
  tables: TokenizerTables,
  pool: WorkerPool<PromptCount> | null,
): TokenMeter {
  const counter = openPromptCounter(TOKENIZERS[name], tables);
  return {
    tokenizer: name,
    tokenizerSha256: TOKENIZERS[name].sha256,
    async countPrompt(prompt, limit, payer) {
      const refused = counter.refuse(prompt, limit);
      if (refused !== null) return refused;
      const units = estimatePromptCodeUnits(prompt);
      if (pool === null || units <= INLINE_UNITS_MAX) return counter.count(prompt, limit, payer);
      const job: WorkerJob = { tokenizer: name, prompt: packPrompt(prompt), limit, payer };
      return pool.run(job, { units });
    },
    openOutput: (tokensMax) => counter.openOutput(tokensMax),
  };
}
