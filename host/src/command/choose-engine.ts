/** Opens the engine that the flags name, or else the one that was stored when the node elected (chose) its models. */
import { basename } from "node:path";
import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import type { PlaneDialer } from "../agent/plane-connection.ts";
import type { Clock } from "../clock.ts";
import { compositeEngine } from "../engines/composite-engine.ts";
import type { DemoOptions } from "../engines/demo-engine.ts";
import {
  explainAbsenceAtGivenAddress,
  type FoundEngine,
  findEngines,
  identifyEngine,
  listEngineAddresses,
  listEngineNotes,
} from "../engines/detect-engines.ts";
import type { Engine } from "../engines/engine.ts";
import type { EngineAbsence } from "../engines/engine-absence.ts";
import { limitEngineLoad } from "../engines/engine-load-limit.ts";
import { FrameFaultInjector } from "../engines/frame-fault-injector.ts";
import { loadLlamaCpp } from "../engines/llama-cpp/load-llama-cpp.ts";
import { ACTIVE_MODELS, findCatalogueId, mapCatalogueIdsToEngineModels } from "../engines/model-names.ts";
import { openAiEngine } from "../engines/openai-engine.ts";
import { scriptedEngine } from "../engines/scripted-engine.ts";
import type { EngineSettings } from "./flags.ts";
import { isLoopback } from "./parse-arguments.ts";

const LISTED_MAX = 10;

interface Choice {
  clock: Clock;
  env: {
    OLLAMA_HOST?: string | undefined;
    /** The path of the demo model's file, for packages that do not contain it. */
    TOLLGATE_DEMO_MODEL?: string | undefined;
  };
  /** Finds engines on this machine. */
  find?: typeof findEngines;
  /** Opens the demo model. */
  openDemo?: (options: DemoOptions) => Promise<Engine>;
}

/** An engine found on this machine, with the models it will serve. */
export interface EngineSource extends Pick<FoundEngine, "kind" | "url"> {
  models: string[];
}

export interface ChosenEngine {
  engine: Engine;
  /** The requested models, or all models of the engine if none were requested. */
  models: string[];
  /** The engines found on this machine that serve the models; empty if the engine was named. */
  sources: EngineSource[];
  /** Adds the scripted engine's network faults to the node's connection. For other engines, it changes nothing. */
  plane: (dial: PlaneDialer) => PlaneDialer;
}

export async function chooseEngine(flags: EngineSettings, choice: Choice): Promise<ChosenEngine> {
  const faults = new FrameFaultInjector();
  const { engine, sources = [] } = await build(flags, choice, faults);
  const plane = (dial: PlaneDialer): PlaneDialer => (isScripted(flags) ? faults.decorate(dial) : dial);
  const models = flags.models ?? engine.models;
  const missing = models.filter((model) => !engine.models.includes(model));
  if (missing.length === 0) return { engine, models, sources, plane };
  await engine.close();
  throw new UsageError([
    `--models: ${engine.name} does not serve ${missing.join(", ")}; it serves ${engine.models.join(", ")}`,
  ]);
}

const isScripted = ({ engine, modelFile }: EngineSettings): boolean => engine === "scripted" && modelFile === undefined;

interface Built {
  engine: Engine;
  sources?: EngineSource[];
}

async function build(flags: EngineSettings, choice: Choice, faults: FrameFaultInjector): Promise<Built> {
  const models = flags.models ?? ACTIVE_MODELS;
  if (flags.modelFile !== undefined) return { engine: await fileEngine(flags.modelFile, flags, choice) };
  if (isScripted(flags)) return { engine: scriptedEngine({ models, slots: flags.slots, clock: choice.clock, faults }) };
  if (flags.engine === "openai") return { engine: await namedEngine(flags, choice) };
  if (flags.engine === "auto") return foundEngines(flags, choice);
  return { engine: await demo(models, flags.slots, choice) };
}

async function demo(models: string[], slots: number | undefined, { env, clock, ...choice }: Choice): Promise<Engine> {
  const open = choice.openDemo ?? (await loadLlamaCpp(() => import("../engines/demo-engine.ts"))).demoEngine;
  return open({ models, slots, modelFile: env.TOLLGATE_DEMO_MODEL, clock });
}

async function fileEngine(file: string, flags: EngineSettings, { clock }: Choice): Promise<Engine> {
  const model = flags.modelAs ?? findCatalogueId(file);
  if (model === undefined)
    throw new UsageError([
      `--as is missing: name the model, because the file name ${basename(file)} matches no model of the catalogue`,
    ]);
  const { llamaCppEngine } = await loadLlamaCpp(() => import("../engines/llama-cpp/llama-cpp.ts"));
  return llamaCppEngine({ name: basename(file), file, models: [model], slots: flags.slots, clock }).catch(
    (cause: unknown) => {
      const reason = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
      const hint =
        cause instanceof Error && cause.name === "InsufficientMemoryError" ? "; fewer --slots need less memory" : "";
      throw new UsageError([`--model: ${file} cannot be run: ${reason}${hint}`]);
    },
  );
}

async function namedEngine(flags: EngineSettings, choice: Choice): Promise<Engine> {
  const url = flags.engineUrl as string;
  const absence = await explainAbsenceAtGivenAddress(url, flags.engineKey);
  // The first test may report a known engine as another program (`stranger`), so identifying it comes next.
  if (absence !== undefined && absence.cause !== "stranger") throw makeAbsenceError(absence);
  const found = await identifyEngine(url, { apiKey: flags.engineKey });
  if (found === undefined) throw makeAbsenceError(absence ?? notAnEngine(url));
  if (found.models.length === 0 && flags.map.size === 0) throw holdsNothing(found);
  const models = new Map([...mapCatalogueIdsToEngineModels(found.models), ...flags.map]);
  if (models.size === 0) {
    const listed = found.models.slice(0, LISTED_MAX).join(", ");
    throw new UsageError([`--map is missing: the catalogue has none of the engine's models (${listed})`]);
  }
  return httpEngine(found, models, flags, choice);
}

/** The engine is still loading its model, so a retry may help. */
export class EngineLoadingError extends CommandError {
  override name = "EngineLoading";
}

export function makeAbsenceError({ cause, what, next }: EngineAbsence): CommandError {
  return cause === "loading" ? new EngineLoadingError(what, { next }) : new CommandError(what, { next });
}

const notAnEngine = (url: string): EngineAbsence => ({
  cause: "stranger",
  url,
  what: `the server at ${url} is not an engine: its list of models (/v1/models) has another format`,
  next: "give the engine's own address and port, with any path before /v1",
});

const holdsNothing = ({ name }: FoundEngine): CommandError =>
  new CommandError(`${name} lists no models`, {
    next: "load a model (docs/hosts/engines.md, Models that fit), or use --map MODEL=ENGINE_MODEL to name a model that the engine does not list",
  });

function httpEngine(
  found: FoundEngine,
  models: ReadonlyMap<string, string>,
  { slots, engineKey: apiKey }: Pick<EngineSettings, "slots" | "engineKey">,
  { clock }: Choice,
): Engine {
  const { name, url, profile } = found;
  const engine = openAiEngine({
    name,
    url,
    profile,
    models,
    apiKey,
    slots,
    slotsTold: found.slotsTold ? found.slots : undefined,
    listed: found.models,
    notes: listEngineNotes(found, models, slots),
    clock,
  });
  return limitEngineLoad(engine, clock);
}

/**
 * Uses the engines on this machine for the models they have. The demo model serves the remaining ones;
 * `openLocalEngine` only allows this with --demo-fallback.
 */
async function foundEngines(flags: EngineSettings, choice: Choice): Promise<Built> {
  const found = await (choice.find ?? findEngines)(listEngineAddresses(choice.env, flags.addresses));
  const engines: Engine[] = [];
  const sources: EngineSource[] = [];
  const served = new Set<string>();
  for (const engine of found) {
    const models = modelsOf(engine, flags.models, served);
    if (models.size === 0) continue;
    for (const model of models.keys()) served.add(model);
    sources.push({ kind: engine.kind, url: engine.url, models: [...models.keys()] });
    engines.push(httpEngine(engine, models, { slots: flags.slots, engineKey: undefined }, choice));
  }
  const wanted = flags.models ?? (engines.length === 0 ? ACTIVE_MODELS : []);
  const rest = wanted.filter((model) => !served.has(model));
  if (rest.length > 0) engines.push(await demo(rest, flags.slots, choice));
  const [only, ...others] = engines;
  return { engine: only !== undefined && others.length === 0 ? only : compositeEngine(engines), sources };
}

function modelsOf(engine: FoundEngine, asked: string[] | undefined, served: Set<string>): Map<string, string> {
  const known = [...mapCatalogueIdsToEngineModels(engine.models)];
  return new Map(known.filter(([model]) => !served.has(model) && (asked?.includes(model) ?? true)));
}

/**
 * Whether the models are loaded into this machine's memory. A remote engine has its own memory, and demo and scripted
 * engines need almost none.
 */
export function usesLocalMemory({ engine, engineUrl, modelFile }: EngineSettings): boolean {
  if (engine === "auto" || modelFile !== undefined) return true;
  return engineUrl !== undefined && isLoopback(engineUrl);
}
