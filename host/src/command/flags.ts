/**
 * The flags of `tollgate-host up`, read once. Every mistake is reported, each in one line that names the flag. What is not
 * given comes from the stored login, unless --gateway is given: then nothing stored is used.
 */
import type { RememberedAddresses } from "../engines/detect.ts";
import { LOG_LEVELS } from "../log.ts";
import {
  isHostToken,
  isHttpUrl,
  mapOf,
  modelsOf,
  nameOf,
  readFlags,
  UsageError,
  type Wrong,
  wholeNumber,
} from "./arguments.ts";

export const ENGINES = ["auto", "demo", "scripted", "openai"] as const;
type EngineKind = (typeof ENGINES)[number];

/** Which engine to serve with, and what. */
export interface EngineSettings {
  engine: EngineKind;
  engineUrl: string | undefined;
  engineKey: string | undefined;
  /** Catalogue id → the engine's name. */
  map: Map<string, string>;
  models: string[] | undefined;
  slots: number | undefined;
  /** Where engines that were found were when they were elected. */
  addresses?: RememberedAddresses | undefined;
  /** A model file to run in this process, and the catalogue model it serves; default: what its name says. */
  modelFile?: string | undefined;
  modelAs?: string | undefined;
}

export interface UpFlags extends EngineSettings {
  gateway: string;
  token: string;
  /** The node to serve as: by its id, or by a name that is registered if it is new. */
  identity: { id: string } | { name: string };
  /** The engine and the models are what `elect` settled, not what this command line says. */
  settled: boolean;
  /** What `elect` settled and this command line sets aside by naming an engine. */
  setAside: EngineSettings | undefined;
  /** The demo model serves the models that no engine holds: for a development platform and for tests. */
  demoFallback: boolean;
  logLevel: string;
  json: boolean;
}

export const ENGINE_USAGE = `  --engine KIND       auto (default), demo, scripted or openai
  --engine-url URL    address of the OpenAI-compatible engine (with --engine openai)
  --map A=B,C=D       which of the engine's models (B) serves which model of the catalogue (A)
  --model FILE        run this GGUF file in this process; no other engine is needed
  --as MODEL          the model of the catalogue that the file holds; default: what its name says
  --slots N           how many requests to run at once`;

export const UP_USAGE = `tollgate-host up: serve requests as a node

After login, register and elect no flag is needed.

  --gateway URL       another gateway, e.g. http://127.0.0.1:8080; then nothing stored is used
  --token TOKEN       host token (or the environment variable TOLLGATE_HOST_TOKEN)
  --node ID           serve as this node, or
  --name NAME         serve as the node of this name; it is registered if it is new
  --models A,B        models to choose (elect); default: what was elected, or what the engine serves
${ENGINE_USAGE}
  --demo-fallback     serve models that no engine here holds with the demo model; for tests
  --log-level LEVEL   ${LOG_LEVELS.join(", ")}; default warn
  --json              one JSON object a line instead of a screen

An engine that wants a key takes it from the environment variable TOLLGATE_ENGINE_KEY.
OLLAMA_HOST says where Ollama is, if it is not where it was elected. An engine that is still
loading is waited for.
Ctrl-C finishes what runs, then stops; a second Ctrl-C stops at once.`;

export const ENGINE_OPTIONS = {
  engine: { type: "string" },
  "engine-url": { type: "string" },
  map: { type: "string" },
  model: { type: "string" },
  as: { type: "string" },
  models: { type: "string" },
  slots: { type: "string" },
} as const;

const OPTIONS = {
  ...ENGINE_OPTIONS,
  gateway: { type: "string" },
  token: { type: "string" },
  node: { type: "string" },
  name: { type: "string" },
  "demo-fallback": { type: "boolean", default: false },
  "log-level": { type: "string", default: "warn" },
} as const;

const SLOTS_MAX = 4096;

interface FlagEnv {
  TOLLGATE_HOST_TOKEN?: string | undefined;
  TOLLGATE_ENGINE_KEY?: string | undefined;
}

/** What this machine remembers, as far as `up` uses it. */
export interface Remembered {
  gateway: string;
  token: string;
  node: { id: string } | undefined;
  serving: EngineSettings | undefined;
}

export function parseUpFlags(args: string[], env: FlagEnv, login?: Remembered): UpFlags {
  const values = readFlags(args, OPTIONS);
  const mistakes: string[] = [];
  const wrong = (mistake: string): undefined => void mistakes.push(mistake);
  const stored = values.gateway === undefined ? login : undefined;

  const token = values.token ?? stored?.token ?? env.TOLLGATE_HOST_TOKEN;
  if (token === undefined || token === "") wrong("--token is missing (or set TOLLGATE_HOST_TOKEN)");
  else if (!isHostToken(token)) wrong("--token is not a host token: those begin with tht_live_");
  const gateway = values.gateway ?? stored?.gateway;
  if (gateway === undefined) wrong("--gateway is missing: tollgate-host login remembers one");
  else if (!isHttpUrl(gateway)) wrong("--gateway is not an address like http://127.0.0.1:8080");
  const identity = identityOf(values, stored?.node, wrong);
  const fromFlags = engineSettings(values, env, wrong);
  const settled = isEngineNamed(values) ? undefined : stored?.serving;
  const settings = settled === undefined ? fromFlags : settledBy(settled, fromFlags);
  if (stored !== undefined && stored.serving === undefined && !isEngineNamed(values) && values.models === undefined)
    wrong("--models is missing: tollgate-host elect chooses and remembers what to serve");
  if (values["demo-fallback"] && settings.engine !== "auto") wrong("--demo-fallback goes with --engine auto");
  if (!LOG_LEVELS.includes(values["log-level"])) wrong(`--log-level is one of ${LOG_LEVELS.join(", ")}`);

  if (mistakes.length > 0) throw new UsageError(mistakes);
  return {
    ...settings,
    gateway: gateway as string,
    token: token as string,
    identity: identity as UpFlags["identity"],
    settled: settled !== undefined,
    setAside: settled === undefined ? stored?.serving : undefined,
    demoFallback: values["demo-fallback"],
    logLevel: values["log-level"],
    json: values.json ?? false,
  };
}

type EngineFlagValues = { [Name in keyof typeof ENGINE_OPTIONS]?: string | undefined };

/** Whether a flag says which engine: what was remembered of another one does not go with it. */
function isEngineNamed(values: EngineFlagValues): boolean {
  return [values.engine, values["engine-url"], values.map, values.model].some((value) => value !== undefined);
}

export function engineSettings(values: EngineFlagValues, env: FlagEnv, wrong: Wrong): EngineSettings {
  const { "engine-url": engineUrl, model: modelFile, as: modelAs } = values;
  const named = ENGINES.find((kind) => kind === (values.engine ?? "auto"));
  const engine = named ?? wrong(`--engine is one of ${ENGINES.join(", ")}`) ?? "auto";
  if (engineUrl !== undefined && !isHttpUrl(engineUrl))
    wrong("--engine-url is not an address like http://127.0.0.1:8000");
  if (engine === "openai" && engineUrl === undefined) wrong("--engine openai needs --engine-url");
  if (engine !== "openai" && engineUrl !== undefined) wrong("--engine-url goes with --engine openai");
  if (engine !== "openai" && values.map !== undefined) wrong("--map goes with --engine openai");
  if (modelFile !== undefined && values.engine !== undefined) wrong("--model and --engine exclude each other");
  if (modelFile === undefined && modelAs !== undefined) wrong("--as goes with --model FILE.gguf");
  return {
    engine,
    engineUrl,
    engineKey: env.TOLLGATE_ENGINE_KEY,
    map: mapOf(values.map, wrong),
    models: modelsOf(values.models, wrong),
    slots: wholeNumber("slots", values.slots, { min: 1, max: SLOTS_MAX }, wrong),
    ...(modelFile === undefined ? {} : { modelFile, modelAs }),
  };
}

/** What was remembered, with what the flags say of models and slots. */
function settledBy(serving: EngineSettings, fromFlags: EngineSettings): EngineSettings {
  return {
    ...serving,
    engineKey: fromFlags.engineKey ?? serving.engineKey,
    models: fromFlags.models ?? serving.models,
    slots: fromFlags.slots ?? serving.slots,
  };
}

function identityOf(
  { node, name }: { node?: string; name?: string },
  stored: { id: string } | undefined,
  wrong: Wrong,
): UpFlags["identity"] | undefined {
  if (node !== undefined && name !== undefined) return wrong("--node and --name exclude each other");
  if (node !== undefined) return /^node_\w+$/.test(node) ? { id: node } : wrong("--node is not a node id: node_…");
  if (name !== undefined) return nameOf(name, wrong) === undefined ? undefined : { name };
  return stored ?? wrong("--name (or --node) is missing: how this machine is called");
}
