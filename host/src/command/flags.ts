/** The flags of `tollgate-host up`, read once. Every mistake is reported, each in one line that names the flag. */
import { parseArgs } from "node:util";
import { LOG_LEVELS } from "../log.ts";

export const ENGINES = ["auto", "demo", "scripted", "openai"] as const;
export type EngineKind = (typeof ENGINES)[number];

export interface UpFlags {
  gateway: string;
  token: string;
  /** The node to serve as: by its id, or by a name that is registered if it is new. */
  identity: { id: string } | { name: string };
  engine: EngineKind;
  engineUrl: string | undefined;
  engineKey: string | undefined;
  /** Catalogue id → the engine's name. */
  map: Map<string, string>;
  models: string[] | undefined;
  slots: number | undefined;
  logLevel: string;
}

export const UP_USAGE = `tollgate-host up: serve requests as a node

  --gateway URL       the gateway's address, e.g. http://127.0.0.1:8080
  --token TOKEN       host token (or the environment variable TOLLGATE_HOST_TOKEN)
  --node ID           serve as this node, or
  --name NAME         serve as the node of this name; it is registered if it is new
  --engine KIND       auto (default), demo, scripted or openai
  --engine-url URL    address of the OpenAI-compatible engine (with --engine openai)
  --map A=B,C=D       which of the engine's models (B) serves which model of the catalogue (A)
  --models A,B        models to elect; default: what the engine serves
  --slots N           how many requests to run at once
  --log-level LEVEL   ${LOG_LEVELS.join(", ")}; default warn

An engine that wants a key takes it from the environment variable TOLLGATE_ENGINE_KEY.`;

/** One or more mistakes of the person at the keyboard. */
export class UsageError extends Error {
  override name = "UsageError";
  readonly mistakes: string[];
  constructor(mistakes: string[]) {
    super(mistakes.join("\n"));
    this.mistakes = mistakes;
  }
}

const SPEC = {
  gateway: { type: "string" },
  token: { type: "string" },
  node: { type: "string" },
  name: { type: "string" },
  engine: { type: "string", default: "auto" },
  "engine-url": { type: "string" },
  map: { type: "string" },
  models: { type: "string" },
  slots: { type: "string" },
  "log-level": { type: "string", default: "warn" },
} as const;

const SLOTS_MAX = 4096;
const NAME_CHARS_MAX = 200;

export interface FlagEnv {
  TOLLGATE_HOST_TOKEN?: string | undefined;
  TOLLGATE_ENGINE_KEY?: string | undefined;
}

export function parseUpFlags(args: string[], env: FlagEnv): UpFlags {
  const values = split(args);
  const mistakes: string[] = [];
  const wrong = (mistake: string): undefined => {
    mistakes.push(mistake);
    return undefined;
  };

  const token = values.token ?? env.TOLLGATE_HOST_TOKEN;
  if (token === undefined || token === "") wrong("--token is missing (or set TOLLGATE_HOST_TOKEN)");
  else if (!/^tht_live_\w+$/.test(token)) wrong("--token is not a host token: those begin with tht_live_");
  if (values.gateway === undefined) wrong("--gateway is missing: the gateway's address, e.g. http://127.0.0.1:8080");
  else if (!isHttpUrl(values.gateway)) wrong("--gateway is not an address like http://127.0.0.1:8080");
  const identity = identityOf(values, wrong);
  const engine = ENGINES.find((kind) => kind === values.engine) ?? wrong(`--engine is one of ${ENGINES.join(", ")}`);
  const engineUrl = values["engine-url"];
  if (engineUrl !== undefined && !isHttpUrl(engineUrl))
    wrong("--engine-url is not an address like http://127.0.0.1:8000");
  if (engine === "openai" && engineUrl === undefined) wrong("--engine openai needs --engine-url");
  if (engine !== "openai" && engineUrl !== undefined) wrong("--engine-url goes with --engine openai");
  if (engine !== "openai" && values.map !== undefined) wrong("--map goes with --engine openai");
  const map = mapOf(values.map, wrong);
  const models = modelsOf(values.models, wrong);
  const slots = slotsOf(values.slots, wrong);
  if (!LOG_LEVELS.includes(values["log-level"])) wrong(`--log-level is one of ${LOG_LEVELS.join(", ")}`);

  if (mistakes.length > 0) throw new UsageError(mistakes);
  return {
    gateway: values.gateway as string,
    token: token as string,
    identity: identity as UpFlags["identity"],
    engine: engine as EngineKind,
    engineUrl,
    engineKey: env.TOLLGATE_ENGINE_KEY,
    map,
    models,
    slots,
    logLevel: values["log-level"],
  };
}

type Wrong = (mistake: string) => undefined;

function split(args: string[]) {
  try {
    return parseArgs({ args, options: SPEC, strict: true, allowPositionals: false }).values;
  } catch (error) {
    // Node's message is right in its first sentence and goes on to explain its own syntax.
    const message = error instanceof Error ? error.message : String(error);
    throw new UsageError([message.split(/\. |\n/)[0] ?? message]);
  }
}

function identityOf(flags: { node?: string; name?: string }, wrong: Wrong): UpFlags["identity"] | undefined {
  const { node, name } = flags;
  if (node !== undefined && name !== undefined) return wrong("--node and --name exclude each other");
  if (node !== undefined) return /^node_\w+$/.test(node) ? { id: node } : wrong("--node is not a node id: node_…");
  if (name === undefined) return wrong("--name (or --node) is missing: how this machine is called");
  const fits = name.trim() !== "" && name.length <= NAME_CHARS_MAX;
  return fits ? { name } : wrong(`--name has 1 to ${NAME_CHARS_MAX} characters`);
}

function mapOf(text: string | undefined, wrong: Wrong): Map<string, string> {
  const map = new Map<string, string>();
  for (const pair of text?.split(",") ?? []) {
    const at = pair.indexOf("=");
    const [model, name] = [pair.slice(0, Math.max(0, at)).trim(), pair.slice(at + 1).trim()];
    if (at < 1 || model === "" || name === "") wrong("--map is a list like tiny-3b=llama3.2:3b,embed-m3=bge-m3");
    else map.set(model, name);
  }
  return map;
}

function modelsOf(text: string | undefined, wrong: Wrong): string[] | undefined {
  if (text === undefined) return undefined;
  const models = text.split(",").map((model) => model.trim());
  if (models.some((model) => model === "")) return wrong("--models is a list like tiny-3b,embed-m3");
  return [...new Set(models)];
}

function slotsOf(text: string | undefined, wrong: Wrong): number | undefined {
  if (text === undefined) return undefined;
  const slots = Number(text);
  const fits = Number.isInteger(slots) && slots >= 1 && slots <= SLOTS_MAX;
  return fits ? slots : wrong(`--slots is a whole number from 1 to ${SLOTS_MAX}`);
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && ["http:", "https:"].includes(new URL(text).protocol);
}
