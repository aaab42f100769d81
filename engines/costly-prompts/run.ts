/**
 * `npm run engines:costly-prompts`: measures which prompts cost more than their tokens say. Every text has the same
 * number of tokens by the gateway's count. Prints, for each, the processor time of the gateway's count and of
 * llama.cpp's tokenizers, relative to prose, and the size of the text.
 */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { getLlama, LlamaLogLevel, type LlamaModel } from "node-llama-cpp";
import { ordinaryTexts } from "../../bench/metering/sample-texts.ts";
import { BpeCounter } from "../../gateway/src/metering/bpe/counter.ts";
import { loadTables } from "../../gateway/src/metering/tokenizers.ts";
import { UnigramCounter } from "../../gateway/src/metering/unigram/counter.ts";
import { ensureTinyModel } from "../model/model.ts";
import { measureSchemas } from "./schemas.ts";
import { costlyTexts } from "./texts.ts";

const DEMO = fileURLToPath(new URL("../../host/models/tollgate-demo.gguf", import.meta.url));
/** The largest body that the gateway accepts. */
const BYTES_MAX = 10 * 1024 * 1024;
const ROUNDS = 3;

const { values } = parseArgs({
  options: {
    tokens: { type: "string", default: "8192" },
    only: { type: "string" },
    schemas: { type: "boolean", default: false },
  },
});
if (values.schemas) {
  await measureSchemas();
  process.exit(0);
}
const tokens = Number(values.tokens);

interface Counter {
  name: string;
  count(text: string, limit?: number): number;
}

interface Cost {
  ms: number;
  tokens: number;
}

async function counterOf(name: "llama3" | "qwen2.5" | "xlm-roberta"): Promise<Counter> {
  const tables = await loadTables(name);
  const counter = tables.kind === "bpe" ? new BpeCounter(tables) : new UnigramCounter(tables);
  return { name, count: (text, limit) => counter.count(text, limit) };
}

/** The longest beginning of the text that has at most this number of tokens, and fits into a body. */
function cut(text: string, { count }: Counter): string {
  let [low, high] = [0, Math.min(text.length, BYTES_MAX)];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    const fits =
      Buffer.byteLength(text.slice(0, middle)) <= BYTES_MAX && count(text.slice(0, middle), tokens + 1) <= tokens;
    if (fits) low = middle;
    else high = middle - 1;
  }
  return text.slice(0, low);
}

function cpu(work: () => number): Cost {
  let best: Cost = { ms: Number.POSITIVE_INFINITY, tokens: 0 };
  for (let round = 0; round < ROUNDS && (round === 0 || best.ms < 3_000); round++) {
    const before = process.cpuUsage();
    const counted = work();
    const { user, system } = process.cpuUsage(before);
    const ms = (user + system) / 1_000;
    if (ms < best.ms) best = { ms, tokens: counted };
  }
  return best;
}

const llama = await getLlama({ build: "never", skipDownload: true, gpu: false, logLevel: LlamaLogLevel.error });
const models: [string, LlamaModel][] = [
  ["SentencePiece (demo model)", await llama.loadModel({ modelPath: DEMO })],
  ["BPE (Llama 3.2)", await llama.loadModel({ modelPath: (await ensureTinyModel()).gguf })],
];
const counters = [await counterOf("llama3"), await counterOf("xlm-roberta")];
const prose = ordinaryTexts().English ?? "";
for (const counter of counters) {
  console.log(
    `\n${tokens} tokens by ${counter.name} (or 10 MiB). Times of prose are in ms, others are multiples of them`,
  );
  const usual = cut(prose, counter);
  const measure = (text: string) => [
    cpu(() => counter.count(text)),
    ...models.map(([, model]) => cpu(() => model.tokenize(text).length)),
  ];
  const base = measure(usual);
  console.log(
    `| Text | bytes a token | gateway | ${models.map(([name]) => name).join(" | ")} |\n|---|---|---|---|---|`,
  );
  const perToken = (text: string): string => (Buffer.byteLength(text) / Math.max(counter.count(text), 1)).toFixed(1);
  console.log(`| prose | ${perToken(usual)} | ${base.map(({ ms }) => `${ms.toFixed(0)} ms`).join(" | ")} |`);
  for (const [what, text] of Object.entries({ ...costlyTexts(BYTES_MAX) })) {
    if (values.only !== undefined && !what.includes(values.only)) continue;
    const part = cut(text, counter);
    const costs = measure(part).map(
      ({ ms, tokens: counted }, i) => `${(ms / (base[i] as Cost).ms).toFixed(1)} (${counted})`,
    );
    console.log(`| ${what} | ${perToken(part)} | ${costs.join(" | ")} |`);
  }
}
await llama.dispose();
