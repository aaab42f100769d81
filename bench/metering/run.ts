/**
 * Measures the processor time of token counting.
 *
 * node bench/metering/run.ts
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createLog } from "../../gateway/src/base/log.ts";
import { BpeCounter } from "../../gateway/src/metering/bpe/counter.ts";
import { CappedOutput } from "../../gateway/src/metering/capped-output.ts";
import { openTokenMetering } from "../../gateway/src/metering/metering.ts";
import { loadTables, TOKENIZER_NAMES, type TokenizerTables } from "../../gateway/src/metering/tokenizers.ts";
import { UnigramCounter } from "../../gateway/src/metering/unigram/counter.ts";
import { hostileTexts, ordinaryTexts } from "./sample-texts.ts";

const MIB = 1024 * 1024;
/** The largest context of the models with these vocabularies, in tokens. */
const CONTEXT = 131_072;
const ROUNDS = 5;

/** Returns the processor time that the process spent on `work`, in milliseconds. */
function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/**
 * Returns the fastest of several rounds: slower ones were disturbed by other work or ran code that was not compiled
 * yet.
 */
function bestCpuMs(work: () => void): number {
  return Math.min(...Array.from({ length: ROUNDS }, () => cpuMs(work)));
}

const counterOf = (tables: TokenizerTables): BpeCounter | UnigramCounter =>
  tables.kind === "bpe" ? new BpeCounter(tables) : new UnigramCounter(tables);

function tableBytes(tables: object): number {
  return Object.values(tables).reduce((sum, value) => {
    if (ArrayBuffer.isView(value)) return sum + value.byteLength;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? sum + tableBytes(value) : sum;
  }, 0);
}

async function loading(): Promise<Map<string, TokenizerTables>> {
  console.log("\nLoading (wall time, first and then best of five), tables, growth of the process");
  const all = new Map<string, TokenizerTables>();
  for (const name of TOKENIZER_NAMES) {
    const rss = process.memoryUsage.rss();
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const start = performance.now();
      all.set(name, await loadTables(name));
      times.push(performance.now() - start);
      if (round === 0) {
        const tables = all.get(name) as TokenizerTables;
        counterOf(tables).count("warm");
        const grown = (process.memoryUsage.rss() - rss) / MIB;
        console.log(`  ${name}: tables ${(tableBytes(tables) / MIB).toFixed(1)} MiB, process +${grown.toFixed(0)} MiB`);
      }
    }
    console.log(`  ${name}: ${times[0]?.toFixed(0)} ms, ${Math.min(...times).toFixed(0)} ms`);
  }
  return all;
}

function throughput(all: Map<string, TokenizerTables>): void {
  console.log("\nWhole texts, MB of UTF-8 per second of CPU");
  for (const [what, text] of Object.entries(ordinaryTexts())) {
    const bytes = Buffer.byteLength(text);
    for (const [name, tables] of all) {
      const counter = counterOf(tables);
      const ms = bestCpuMs(() => counter.count(text));
      const perToken = (bytes / counter.count(text)).toFixed(1);
      console.log(`  ${what}, ${name}: ${(bytes / ms / 1000).toFixed(1)} MB/s (${perToken} bytes a token)`);
    }
  }
}

function deltas(all: Map<string, TokenizerTables>): void {
  console.log("\nStreaming, nanoseconds of CPU a delta of 1 to 8 characters");
  for (const [what, text] of Object.entries(ordinaryTexts())) {
    const parts: string[] = [];
    for (let from = 0; from < 1_000_000; from += 1 + (parts.length % 8)) {
      parts.push(text.slice(from, from + 1 + (parts.length % 8)));
    }
    for (const [name, tables] of all) {
      if (tables.kind !== "bpe") continue;
      const counter = new BpeCounter(tables);
      const far = bestCpuMs(() => {
        const output = new CappedOutput(10_000_000, () => counter.openStream());
        for (const part of parts) output.push("answer", part);
      });
      const exact = bestCpuMs(() => {
        const stream = counter.openStream();
        for (const part of parts) {
          stream.push(part);
          stream.total();
        }
      });
      const ns = (ms: number): string => ((ms * 1e6) / parts.length).toFixed(0);
      console.log(`  ${what}, ${name}: ${ns(far)} ns; with the exact count each time ${ns(exact)} ns`);
    }
  }
}

function hostile(all: Map<string, TokenizerTables>): void {
  console.log(
    `\nHostile prompts of 10 MiB, ms of CPU: limit of ${CONTEXT} tokens / no limit; 16 KiB (the most counted inline)`,
  );
  const long = hostileTexts(10 * MIB);
  const short = hostileTexts(16 * 1024);
  for (const [name, tables] of all) {
    const counter = counterOf(tables);
    const worst = { limited: 0, unlimited: 0, inline: 0 };
    for (const [what, text] of Object.entries(long)) {
      const inline = bestCpuMs(() => counter.count(short[what] as string));
      const limited = Math.min(...[1, 2].map(() => cpuMs(() => counter.count(text, CONTEXT))));
      const unlimited = Math.min(...[1, 2].map(() => cpuMs(() => counter.count(text))));
      console.log(`  ${name}, ${what}: ${limited.toFixed(0)} / ${unlimited.toFixed(0)}; ${inline.toFixed(1)}`);
      worst.limited = Math.max(worst.limited, limited);
      worst.unlimited = Math.max(worst.unlimited, unlimited);
      worst.inline = Math.max(worst.inline, inline);
    }
    const { limited, unlimited, inline } = worst;
    console.log(`  ${name}, worst: ${limited.toFixed(0)} / ${unlimited.toFixed(0)}; ${inline.toFixed(1)}`);
  }
}

async function eventLoop(): Promise<void> {
  console.log("\nThe event loop while hostile prompts of 10 MiB are counted");
  const metering = await openTokenMetering({ log: createLog("silent") });
  const texts = Object.values(hostileTexts(10 * MIB));
  const delay = monitorEventLoopDelay({ resolution: 1 });
  // Counts once before the measurement, so that the worker threads have started.
  await metering.meter("llama3")?.countPrompt({ kind: "text", text: "word ".repeat(10_000) }, CONTEXT);
  delay.enable();
  for (const name of metering.names) {
    for (const text of texts) await metering.meter(name)?.countPrompt({ kind: "text", text }, CONTEXT);
  }
  delay.disable();
  console.log(
    `  longest wait ${(delay.max / 1e6).toFixed(1)} ms, 99 % under ${(delay.percentile(99) / 1e6).toFixed(1)} ms`,
  );
  await metering.close();
}

const all = await loading();
throughput(all);
deltas(all);
hostile(all);
await eventLoop();
