/**
 * Parses the flags of `tollgate-host up` and names the flag of every mistake. Missing values come from the stored
 * login, unless --gateway is given.
 */
import { type CommandInput, type Flag, JSON_FLAG } from "@tollgate/terminal/command.ts";
import { UsageError } from "@tollgate/terminal/errors.ts";
import type { RememberedAddresses } from "../engines/detect-engines.ts";
import { LOG_LEVELS } from "../log.ts";
import {
  isHostToken,
  isHttpUrl,
  parseModelMap,
  parseModels,
  parseNodeName,
  parseWholeNumber,
  type ReportMistake,
} from "./parse-arguments.ts";

export const ENGINES = ["auto", "demo", "scripted", "openai"] as const;
type EngineKind = (typeof ENGINES)[number];

/** The engine to use, and its models. */
export interface EngineSettings {
  engine: EngineKind;
  engineUrl: string | undefined;
  engineKey: string | undefined;
  /** From a catalogue model's ID to the engine's name for that model. */
  map: Map<string, string>;
  models: string[] | undefined;
  slots: number | undefined;
  /** The addresses at which engines were found when the host elected (chose) its models. */
  addresses?: RememberedAddresses | undefined;
  /**
   * A model file to run in this process, and the catalogue model it contains. By default, that model follows from the
   * file name.
   */
  modelFile?: string | undefined;
  modelAs?: string | undefined;
}

export interface UpFlags extends EngineSettings {
  gateway: string;
  token: string;
  /** The node's ID, or its name. A node is registered if the name is new. */
  identity: { id: string } | { name: string };
  /** Whether engine and models come from `elect`, not from this command line. */
  settled: boolean;
  /** The stored settings of `elect`, which are not used because this command line names an engine. */
  setAside: EngineSettings | undefined;
  /** Whether the demo model serves models that no engine has. For development platforms and tests. */
  demoFallback: boolean;
  logLevel: string;
  json: boolean;
}

const SLOTS_MAX = 4096;

export const ENGINE_FLAGS: Record<string, Flag> = {
  engine: { value: "KIND", help: "the engine to use (default: auto, the first one found)", oneOf: ENGINES },
  "engine-url": { value: "URL", help: "with --engine openai: the address of the OpenAI-compatible engine" },
  map: { value: "A=B,C=D", help: "serve the catalogue's model A with the engine's model B" },
  model: { value: "FILE", help: "run this GGUF file in this process; no other engine is needed" },
  as: { value: "MODEL", help: "with --model: catalogue ID of the model in that file (default: taken from its name)" },
  slots: { value: "N", help: `how many requests to run at once, 1 to ${SLOTS_MAX}` },
};

export const UP_FLAGS: Record<string, Flag> = {
  gateway: { value: "URL", help: "use another gateway, such as http://127.0.0.1:8080, without the stored login" },
  token: { value: "TOKEN", help: "host token (or the environment variable TOLLGATE_HOST_TOKEN)" },
  node: { value: "ID", help: "serve as the node with this ID" },
  name: { value: "NAME", help: "serve as the node with this name, which is registered if it does not exist" },
  models: { value: "A,B", help: "models to elect (choose); default: those elected before, or what the engine serves" },
  ...ENGINE_FLAGS,
  "demo-fallback": { help: "use the demo model for models that no engine on this machine has; for tests" },
  "log-level": { value: "LEVEL", help: "lowest level of the log lines (default: warn)", oneOf: LOG_LEVELS },
  ...JSON_FLAG,
};

interface FlagEnv {
  TOLLGATE_HOST_TOKEN?: string | undefined;
  TOLLGATE_ENGINE_KEY?: string | undefined;
}

/** The stored settings that `up` uses. */
export interface StoredSettings {
  gateway: string;
  token: string;
  node: { id: string } | undefined;
  serving: EngineSettings | undefined;
}

export function parseUpFlags(
  { flags: values, switches, json }: CommandInput,
  env: FlagEnv,
  login?: StoredSettings,
): UpFlags {
  const mistakes: string[] = [];
  const wrong = (mistake: string): undefined => void mistakes.push(mistake);
  const stored = values.gateway === undefined ? login : undefined;

  const token = values.token ?? stored?.token ?? env.TOLLGATE_HOST_TOKEN;
  if (token === undefined || token === "") wrong("--token is missing (or set TOLLGATE_HOST_TOKEN)");
  else if (!isHostToken(token)) wrong("--token must be a host token, which begins with tht_live_");
  const gateway = values.gateway ?? stored?.gateway;
  if (gateway === undefined) wrong("--gateway is missing: give it, or run tollgate-host login first");
  else if (!isHttpUrl(gateway)) wrong("--gateway must be an address like http://127.0.0.1:8080");
  const identity = identityOf(values, stored?.node, wrong);
  const fromFlags = parseEngineSettings(values, env, wrong);
  const settled = isEngineNamed(values) ? undefined : stored?.serving;
  const settings = settled === undefined ? fromFlags : settledBy(settled, fromFlags);
  if (stored !== undefined && stored.serving === undefined && !isEngineNamed(values) && values.models === undefined)
    wrong("--models is missing: give it, or choose models with tollgate-host elect first");
  if (switches.has("demo-fallback") && settings.engine !== "auto") wrong("--demo-fallback needs --engine auto");

  if (mistakes.length > 0) throw new UsageError(mistakes);
  return {
    ...settings,
    gateway: gateway as string,
    token: token as string,
    identity: identity as UpFlags["identity"],
    settled: settled !== undefined,
    setAside: settled === undefined ? stored?.serving : undefined,
    demoFallback: switches.has("demo-fallback"),
    logLevel: values["log-level"] ?? "warn",
    json,
  };
}

type EngineFlagValues = CommandInput["flags"];

/** Whether a flag chooses the engine. If so, stored settings of another engine do not apply. */
function isEngineNamed(values: EngineFlagValues): boolean {
  return [values.engine, values["engine-url"], values.map, values.model].some((value) => value !== undefined);
}

export function parseEngineSettings(values: EngineFlagValues, env: FlagEnv, wrong: ReportMistake): EngineSettings {
  const { "engine-url": engineUrl, model: modelFile, as: modelAs } = values;
  const engine = (values.engine ?? "auto") as EngineKind;
  if (engineUrl !== undefined && !isHttpUrl(engineUrl))
    wrong("--engine-url must be an address like http://127.0.0.1:8000");
  if (engine === "openai" && engineUrl === undefined) wrong("--engine openai needs --engine-url");
  if (engine !== "openai" && engineUrl !== undefined) wrong("--engine-url needs --engine openai");
  if (engine !== "openai" && values.map !== undefined) wrong("--map needs --engine openai");
  if (modelFile !== undefined && values.engine !== undefined) wrong("--model and --engine cannot be combined");
  if (modelFile === undefined && modelAs !== undefined) wrong("--as needs --model FILE.gguf");
  return {
    engine,
    engineUrl,
    engineKey: env.TOLLGATE_ENGINE_KEY,
    map: parseModelMap(values.map, wrong),
    models: parseModels(values.models, wrong),
    slots: parseWholeNumber("slots", values.slots, { min: 1, max: SLOTS_MAX }, wrong),
    ...(modelFile === undefined ? {} : { modelFile, modelAs }),
  };
}

/** The stored settings, with the models, slots and key of this command line where given. */
function settledBy(serving: EngineSettings, fromFlags: EngineSettings): EngineSettings {
  return {
    ...serving,
    engineKey: fromFlags.engineKey ?? serving.engineKey,
    models: fromFlags.models ?? serving.models,
    slots: fromFlags.slots ?? serving.slots,
  };
}

function identityOf(
  { node, name }: CommandInput["flags"],
  stored: { id: string } | undefined,
  wrong: ReportMistake,
): UpFlags["identity"] | undefined {
  if (node !== undefined && name !== undefined) return wrong("--node and --name cannot be combined");
  if (node !== undefined) return /^node_\w+$/.test(node) ? { id: node } : wrong("--node must be a node ID (node_…)");
  if (name !== undefined) return parseNodeName(name, wrong) === undefined ? undefined : { name };
  return stored ?? wrong("--name (or --node) is missing: give this machine a name");
}
