/** Finds engines that already run on this machine. Each is asked for something only it answers, and has little time. */
import { EngineHttp } from "./engine-http.ts";
import { contextTokensOf } from "./fits.ts";
import { generic } from "./knowledge/generic.ts";
import type { EngineKindName, EngineKnowledge, EngineModel } from "./knowledge/knowledge.ts";
import { llamaServer } from "./knowledge/llama-server.ts";
import { lmStudio } from "./knowledge/lm-studio.ts";
import { mlx } from "./knowledge/mlx.ts";
import { ollama } from "./knowledge/ollama.ts";
import { vllm } from "./knowledge/vllm.ts";

const TIMEOUT_MS = 1_000;
const NAMED_TIMEOUT_MS = 5_000;

export interface FoundEngine {
  /** `ollama at 127.0.0.1:11434`. */
  name: string;
  url: string;
  kind: EngineKindName;
  knowledge: EngineKnowledge;
  /** The names of its models. */
  models: string[];
  /** The same models, with what it tells of them. */
  details: EngineModel[];
  /** How many requests it runs at once; more would queue inside it and seem stalled. */
  slots: number;
  /** It told so itself; otherwise it is assumed, and careful. */
  slotsTold: boolean;
}

/** In order of preference. */
const KNOWN = { ollama, llamaServer, lmStudio, vllm, mlx };

export type EngineAddresses = Record<keyof typeof KNOWN, string>;

export const usualAddresses = (env: { OLLAMA_HOST?: string | undefined }): EngineAddresses => ({
  ollama: ollamaAddress(env.OLLAMA_HOST) ?? ollama.usualAddress,
  llamaServer: llamaServer.usualAddress,
  lmStudio: lmStudio.usualAddress,
  vllm: vllm.usualAddress,
  mlx: mlx.usualAddress,
});

/** Every engine that answers, in order of preference. */
export async function findEngines(
  addresses: EngineAddresses,
  { timeoutMs = TIMEOUT_MS }: { timeoutMs?: number } = {},
): Promise<FoundEngine[]> {
  const kinds = Object.keys(KNOWN) as (keyof typeof KNOWN)[];
  const found = await Promise.all(
    kinds.map((kind) => examine(KNOWN[kind], new EngineHttp({ url: addresses[kind], probeMs: timeoutMs }))),
  );
  return found.filter((engine) => engine !== undefined);
}

/** The engine at an address that was given, whatever it is. Undefined when none answers there. */
export async function identifyEngine(
  url: string,
  options: { apiKey?: string | undefined; timeoutMs?: number } = {},
): Promise<FoundEngine | undefined> {
  const http = new EngineHttp({ url, apiKey: options.apiKey, probeMs: options.timeoutMs ?? NAMED_TIMEOUT_MS });
  for (const knowledge of [...Object.values(KNOWN), generic]) {
    const found = await examine(knowledge, http);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function examine(knowledge: EngineKnowledge, http: EngineHttp): Promise<FoundEngine | undefined> {
  const facts = await knowledge.inspect(http);
  if (facts === undefined) return undefined;
  return {
    name: `${knowledge.kind} at ${http.host}`,
    url: http.root,
    kind: knowledge.kind,
    knowledge,
    models: facts.models.map(({ name }) => name),
    details: facts.models,
    slots: facts.slots ?? knowledge.assumedSlots,
    slotsTold: facts.slots !== undefined,
  };
}

/**
 * What whoever runs the node should know of an engine that will serve these models (catalogue id → engine's name), in one
 * line each.
 */
export function notesOn(
  engine: FoundEngine,
  models: ReadonlyMap<string, string>,
  slotsSet: number | undefined,
): string[] {
  const notes: string[] = [];
  for (const [model, name] of models) {
    const has = engine.details.find((detail) => detail.name === name)?.contextTokens;
    const promised = contextTokensOf(model);
    if (has !== undefined && promised !== undefined && has < promised)
      notes.push(
        `${name} is loaded with a context of ${has} tokens, and ${model} promises ${promised}: longer requests will fail`,
      );
  }
  if (!engine.slotsTold && slotsSet === undefined)
    notes.push(
      `${engine.kind} does not tell how many requests it runs at once; ${engine.slots} assumed, --slots sets it`,
    );
  return [...notes, ...(engine.knowledge.caveats ?? [])];
}

/** What `OLLAMA_HOST` says, if it means this machine. */
function ollamaAddress(host: string | undefined): string | undefined {
  if (host === undefined || host === "") return undefined;
  const text = /^https?:\/\//.test(host) ? host : `http://${host}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return undefined;
  // A server told to listen on every address is reached on the loopback one.
  const name = url.hostname === "0.0.0.0" ? "127.0.0.1" : url.hostname;
  const loopback = name === "localhost" || name === "[::1]" || name.startsWith("127.");
  const port = /:\d+\/?$/.test(text) ? url.port || "80" : "11434";
  return loopback ? `${url.protocol}//${name}:${port}` : undefined;
}
