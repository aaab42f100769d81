/**
 * Finds engines that run on this machine. Each kind is identified by an API call that only this kind answers, with a
 * short timeout.
 */
import type { Clock } from "../clock.ts";
import { type EngineAbsence, explainAbsenceAt } from "./engine-absence.ts";
import { EngineHttp } from "./engine-http.ts";
import { findContextTokens } from "./model-requirements.ts";
import type { EngineKindName, EngineModel, EngineProfile } from "./profiles/engine-profile.ts";
import { genericProfile } from "./profiles/generic-engine.ts";
import { llamaServerProfile } from "./profiles/llama-server.ts";
import { lmStudioProfile } from "./profiles/lm-studio.ts";
import { mlxProfile } from "./profiles/mlx.ts";
import { ollamaProfile } from "./profiles/ollama.ts";
import { vllmProfile } from "./profiles/vllm.ts";

const TIMEOUT_MS = 1_000;
const NAMED_TIMEOUT_MS = 5_000;

export interface FoundEngine {
  /** The name for logs and screens, such as `ollama at 127.0.0.1:11434`. */
  name: string;
  url: string;
  kind: EngineKindName;
  profile: EngineProfile;
  /** The names of the engine's models. */
  models: string[];
  /** The engine's details of these models. */
  details: EngineModel[];
  /**
   * The number of requests that the engine runs at once. Further requests would queue inside the engine and seem
   * stalled.
   */
  slots: number;
  /** Whether the engine reported its slots. If not, `slots` is a low assumption. */
  slotsTold: boolean;
}

/** Sorted by preference. */
const KNOWN = {
  ollama: ollamaProfile,
  llamaServer: llamaServerProfile,
  lmStudio: lmStudioProfile,
  vllm: vllmProfile,
  mlx: mlxProfile,
};

export type EngineAddresses = Record<keyof typeof KNOWN, string>;

/** By kind of engine, the address that was stored when the host elected (chose) its models. */
export type RememberedAddresses = Readonly<Record<string, string>>;

const KINDS = Object.keys(KNOWN) as (keyof typeof KNOWN)[];

/** The addresses to search: from `OLLAMA_HOST`, else from the election, else the default ones. */
export function listEngineAddresses(
  env: { OLLAMA_HOST?: string | undefined },
  remembered: RememberedAddresses = {},
): EngineAddresses {
  const addresses = KINDS.map((kind) => [kind, remembered[KNOWN[kind].kind] ?? KNOWN[kind].usualAddress]);
  const found: EngineAddresses = Object.fromEntries(addresses);
  return { ...found, ollama: parseOllamaAddress(env.OLLAMA_HOST) ?? found.ollama };
}

/** Returns every engine that answers, in order of preference. */
export async function findEngines(addresses: EngineAddresses, clock?: Clock): Promise<FoundEngine[]> {
  const found = await Promise.all(
    KINDS.map((kind) => examine(KNOWN[kind], new EngineHttp({ url: addresses[kind], probeMs: TIMEOUT_MS, clock }))),
  );
  return found.filter((engine) => engine !== undefined);
}

/** Explains why no engine was found at these addresses. */
export async function explainMissingEngines(addresses: EngineAddresses, clock?: Clock): Promise<EngineAbsence[]> {
  const urls = [...new Set(Object.values(addresses))];
  const found = await Promise.all(urls.map((url) => explainAbsenceAt(url, { probeMs: TIMEOUT_MS, clock })));
  return found.filter((absence) => absence !== undefined);
}

const LISTED_MAX = 10;

/** One line per searched address: the engines usually found there, and what answered. */
export function describeSearchedAddresses(
  addresses: EngineAddresses,
  found: FoundEngine[],
  absences: EngineAbsence[],
): string[] {
  return [...new Set(Object.values(addresses))].map((url) => {
    const engine = found.find((one) => one.url === url);
    if (engine !== undefined)
      return `${engine.name} lists ${engine.models.slice(0, LISTED_MAX).join(", ") || "no model"}`;
    const kinds = KINDS.filter((kind) => addresses[kind] === url).map((kind) => KNOWN[kind].kind);
    const absence = absences.find((one) => one.url === url);
    return `${kinds.join(", ")}: ${absence?.what ?? `the server at ${new URL(url).host} is a different engine`}`;
  });
}

/** Explains why no engine was found at an address that the user gave. */
export const explainAbsenceAtGivenAddress = (
  url: string,
  apiKey: string | undefined,
): Promise<EngineAbsence | undefined> => explainAbsenceAt(url, { apiKey, probeMs: NAMED_TIMEOUT_MS });

/** Identifies the engine at a given address. Undefined if no engine answers. */
export async function identifyEngine(
  url: string,
  options: { apiKey?: string | undefined; clock?: Clock } = {},
): Promise<FoundEngine | undefined> {
  const http = new EngineHttp({ url, apiKey: options.apiKey, probeMs: NAMED_TIMEOUT_MS, clock: options.clock });
  for (const profile of [...Object.values(KNOWN), genericProfile]) {
    const found = await examine(profile, http);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function examine(profile: EngineProfile, http: EngineHttp): Promise<FoundEngine | undefined> {
  const facts = await profile.inspect(http);
  if (facts === undefined || (await isLoading(http))) return undefined;
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

/** Whether the server is still loading its model. llama-server lists a model even before it is loaded. */
async function isLoading(http: EngineHttp): Promise<boolean> {
  const health = await http.reach("/health");
  return "status" in health && health.status === 503;
}

/**
 * Notes for the host about an engine that will serve these models, one line each. The map is from catalogue ID to the
 * engine's name.
 */
export function listEngineNotes(
  engine: FoundEngine,
  models: ReadonlyMap<string, string>,
  slotsSet: number | undefined,
): string[] {
  const notes: string[] = [];
  for (const [model, name] of models) {
    const has = engine.details.find((detail) => detail.name === name)?.contextTokens;
    const promised = findContextTokens(model);
    if (has !== undefined && promised !== undefined && has < promised)
      notes.push(
        `${name} is loaded with a context of ${has} tokens, but the catalogue promises ${promised} for ${model}: longer requests will fail`,
      );
  }
  if (!engine.slotsTold && slotsSet === undefined)
    notes.push(
      `${engine.kind} does not report how many requests it runs at once; assuming ${engine.slots}. Use --slots to change this number`,
    );
  return [...notes, ...(engine.profile.caveats ?? [])];
}

/** The address in `OLLAMA_HOST`. Undefined if it is on another machine. */
export function parseOllamaAddress(host: string | undefined): string | undefined {
  if (host === undefined || host === "") return undefined;
  const text = /^https?:\/\//.test(host) ? host : `http://${host}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return undefined;
  // 0.0.0.0 means that the server listens on every address. A client connects to it on loopback.
  const name = url.hostname === "0.0.0.0" ? "127.0.0.1" : url.hostname;
  const loopback = name === "localhost" || name === "[::1]" || name.startsWith("127.");
  const port = /:\d+\/?$/.test(text) ? url.port || "80" : "11434";
  return loopback ? `${url.protocol}//${name}:${port}` : undefined;
}
