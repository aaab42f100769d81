/** Finds engines that already run on this machine. Each is asked for something only it answers, and has little time. */
import type { Clock } from "../clock.ts";
import { EngineHttp } from "./engine-http.ts";
import { contextTokensOf } from "./model-requirements.ts";
import { generic } from "./profiles/generic.ts";
import { llamaServer } from "./profiles/llama-server.ts";
import { lmStudio } from "./profiles/lm-studio.ts";
import { mlx } from "./profiles/mlx.ts";
import { ollama } from "./profiles/ollama.ts";
import type { EngineKindName, EngineModel, EngineProfile } from "./profiles/profile.ts";
import { vllm } from "./profiles/vllm.ts";

const TIMEOUT_MS = 1_000;
const NAMED_TIMEOUT_MS = 5_000;

export interface FoundEngine {
  /** `ollama at 127.0.0.1:11434`. */
  name: string;
  url: string;
  kind: EngineKindName;
  profile: EngineProfile;
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
export async function findEngines(addresses: EngineAddresses, clock?: Clock): Promise<FoundEngine[]> {
  const kinds = Object.keys(KNOWN) as (keyof typeof KNOWN)[];
  const found = await Promise.all(
    kinds.map((kind) => examine(KNOWN[kind], new EngineHttp({ url: addresses[kind], probeMs: TIMEOUT_MS, clock }))),
  );
  return found.filter((engine) => engine !== undefined);
}

/** The engine at an address that was given, whatever it is. Undefined when none answers there. */
export async function identifyEngine(
  url: string,
  options: { apiKey?: string | undefined; clock?: Clock } = {},
): Promise<FoundEngine | undefined> {
  const http = new EngineHttp({ url, apiKey: options.apiKey, probeMs: NAMED_TIMEOUT_MS, clock: options.clock });
  for (const profile of [...Object.values(KNOWN), generic]) {
    const found = await examine(profile, http);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function examine(profile: EngineProfile, http: EngineHttp): Promise<FoundEngine | undefined> {
  const facts = await profile.inspect(http);
  if (facts === undefined) return undefined;
  return {
    name: `${profile.kind} at ${http.host}`,
    url: http.root,
    kind: profile.kind,
    profile,
    models: facts.models.map(({ name }) => name),
    details: facts.models,
    slots: facts.slots ?? profile.assumedSlots,
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
  return [...notes, ...(engine.profile.caveats ?? [])];
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
