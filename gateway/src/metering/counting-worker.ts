/** The code of a worker thread that counts long prompts, so that they do not block the event loop. */
import { parentPort, workerData } from "node:worker_threads";
import { invariant } from "../base/invariant.ts";
import { lowerThreadPriority } from "../base/thread-priority.ts";
import { openPromptCounter, type PromptCounter } from "./prompt-counter.ts";
import { type PackedPrompt, unpackPrompt } from "./prompt-for-worker.ts";
import type { PromptCount } from "./token-meter.ts";
import { TOKENIZERS, type TokenizerName, type TokenizerTables } from "./tokenizers.ts";
import type { WorkerReply } from "./worker-pool.ts";

export interface WorkerData {
  tables: Map<TokenizerName, TokenizerTables>;
}

export interface WorkerJob {
  tokenizer: TokenizerName;
  prompt: PackedPrompt;
  limit: number;
  payer: string | undefined;
}

const port = parentPort;
invariant(port !== null, "counting-worker.ts runs as a worker thread");
lowerThreadPriority();
const { tables } = workerData as WorkerData;
const counters = new Map<TokenizerName, PromptCounter>();

port.on("message", ({ tokenizer, prompt, limit, payer }: WorkerJob) => {
  let reply: WorkerReply<PromptCount>;
  try {
    reply = { result: counterOf(tokenizer).count(unpackPrompt(prompt), limit, payer) };
  } catch (error) {
    reply = { error: error instanceof Error ? error.message : String(error) };
  }
  port.postMessage(reply);
});

function counterOf(name: TokenizerName): PromptCounter {
  let counter = counters.get(name);
  if (counter === undefined) {
    const found = tables.get(name);
    invariant(found !== undefined, `no tables for ${name}`);
    counter = openPromptCounter(TOKENIZERS[name], found);
    counters.set(name, counter);
  }
  return counter;
}
