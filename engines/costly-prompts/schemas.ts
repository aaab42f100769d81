/**
 * `npm run engines:costly-prompts -- --schemas`: measures output formats that the gateway accepts: the time in which
 * llama.cpp in the agent builds their grammar, and the time for each token that it then samples.
 */
import { fileURLToPath } from "node:url";
import { readSchema } from "@tollgate/protocol/json-schema.ts";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { EngineError, type GenerationJob } from "../../host/src/engines/engine.ts";
import { llamaCppEngine } from "../../host/src/engines/llama-cpp/llama-cpp.ts";
import { ensureTinyModel } from "../model/model.ts";

const DEMO = fileURLToPath(new URL("../../host/models/tollgate-demo.gguf", import.meta.url));
/** The vocabularies: a grammar's cost grows with their size. */
const FILES = { "4,096 tokens (demo model)": DEMO, "128,256 tokens (Llama 3.2)": (await ensureTinyModel()).gguf };
const MODEL = "tiny-3b";
const TOKENS = 24;
const TEXT = { type: "string" };

const list = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const properties = (count: number, schema: object): object =>
  Object.fromEntries(list(count, (i) => [`property${i}`, schema]));
const nested = (depth: number, inner: object): object =>
  depth === 0 ? inner : { type: "object", properties: { a: nested(depth - 1, inner) }, required: ["a"] };

/** Schemas of at most 64 KiB. Some are refused by the gateway or the agent. */
const SCHEMAS: Record<string, object> = {
  "one property": { type: "object", properties: { a: TEXT }, required: ["a"] },
  "300 required properties": {
    type: "object",
    properties: properties(300, TEXT),
    required: Object.keys(properties(300, TEXT)),
  },
  "100 optional properties": { type: "object", properties: properties(100, TEXT) },
  "2,500 values": { enum: list(2_500, (i) => `value number ${i * 7919}`) },
  "2,500 values that begin differently": { enum: list(2_500, (i) => `${String.fromCodePoint(0x4e00 + i)}x`) },
  "100 alternatives": {
    anyOf: list(100, (i) => ({ type: "object", properties: { [`k${i}`]: TEXT }, required: [`k${i}`] })),
  },
  "a text of at most 9,000 characters": { type: "string", maxLength: 9_000 },
  "a text of at least 9,000 characters": { type: "string", minLength: 9_000 },
  "a list of at most 5,000 texts": { type: "array", items: TEXT, maxItems: 5_000 },
  "a list of at least 3,000 texts": { type: "array", items: TEXT, minItems: 3_000 },
  "90 levels": nested(90, TEXT),
  "a tree that contains itself": {
    $ref: "#/$defs/t",
    $defs: { t: { type: "object", properties: { a: { $ref: "#/$defs/t" }, b: { $ref: "#/$defs/t" } } } },
  },
  "lists of lists of lists": {
    type: "array",
    maxItems: 20,
    items: { type: "array", maxItems: 20, items: { type: "array", maxItems: 20, items: TEXT } },
  },
  "2,500 values that begin with 80 characters": {
    enum: list(2_500, (i) => `${String.fromCodePoint(0x4e00 + (i % 80))}${i}`),
  },
  "an integer in a wide range": { type: "integer", minimum: -123_456_789_012_345, maximum: 987_654_321_098_765 },
  "200 integers in wide ranges": {
    type: "array",
    maxItems: 3,
    items: {
      anyOf: list(90, (i) => ({
        type: "integer",
        minimum: -123_456_789_012_345 - i,
        maximum: 987_654_321_098_765 + i,
      })),
    },
  },
};

export async function measureSchemas(): Promise<void> {
  for (const [vocabulary, file] of Object.entries(FILES)) {
    console.log(`\n${vocabulary}`);
    await measureVocabulary(file);
  }
}

async function measureVocabulary(file: string): Promise<void> {
  const engine = await llamaCppEngine({ name: "measured", file, models: [MODEL], slots: 1, clock: systemClock });
  const jobOf = (format: GenerationJob["format"]): GenerationJob => ({
    ...{
      id: "measured",
      attempt: 1,
      model: MODEL,
      endpoint: "chat",
      outputTokensMax: TOKENS,
      sampling: { temperature: 0 },
    },
    ...{ input: { messages: [{ role: "user", content: "Tell me a long story about a fox." }] }, format },
  });
  console.log("| Schema | KiB | first token, ms of CPU | each further token, ms |\n|---|---|---|---|");
  for (const [what, schema] of [["no schema", undefined] as const, ...Object.entries(SCHEMAS)]) {
    const kib = schema === undefined ? 0 : JSON.stringify(schema).length / 1024;
    const reading = schema === undefined ? undefined : readSchema(schema as Record<string, unknown>);
    if (reading?.isValid === false) {
      console.log(`| ${what} | ${kib.toFixed(0)} | 400 by the gateway: ${reading.rule} | |`);
      continue;
    }
    const format =
      schema === undefined
        ? undefined
        : { type: "json_schema" as const, name: "s", schema: schema as Record<string, unknown> };
    const stop = new AbortController();
    const [start, times] = [process.cpuUsage(), [] as number[]];
    const cpuMs = (): number => {
      const { user, system } = process.cpuUsage(start);
      return (user + system) / 1_000;
    };
    const sink = {
      progress: () => {},
      delta() {
        times.push(cpuMs());
        if (times.length >= TOKENS) stop.abort();
      },
    };
    try {
      await engine.generate(jobOf(format), sink, stop.signal);
    } catch (error) {
      if (error instanceof EngineError)
        console.log(`| ${what} | ${kib.toFixed(0)} | refused by the agent: ${error.message} | |`);
      else if (!stop.signal.aborted) throw error;
      if (error instanceof EngineError) continue;
    }
    const [first = Number.NaN, last = Number.NaN] = [times[0], times.at(-1)];
    const each = (last - first) / Math.max(times.length - 1, 1);
    console.log(`| ${what} | ${kib.toFixed(0)} | ${first.toFixed(0)} | ${each.toFixed(0)} |`);
  }
  await engine.close();
}
