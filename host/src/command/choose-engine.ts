/** From the flags, or from what was elected, to an engine. */
import { basename } from "node:path";
import type { Dial } from "../agent/plane.ts";
import type { Clock } from "../clock.ts";
import { compositeEngine } from "../engines/composite.ts";
import type { DemoOptions } from "../engines/demo.ts";
import { type FoundEngine, findEngines, identifyEngine, notesOn, usualAddresses } from "../engines/detect.ts";
import type { Engine } from "../engines/engine.ts";
import { ACTIVE_MODELS, catalogueModel, mapModels } from "../engines/models.ts";
import { openAiEngine } from "../engines/openai.ts";
import { scriptedEngine } from "../engines/scripted.ts";
import { WireFaults } from "../engines/wire-faults.ts";
import { isLoopback, UsageError } from "./arguments.ts";
import type { CommandContext } from "./command.ts";
import { CommandError } from "./errors.ts";
import type { EngineSettings } from "./flags.ts";

const LISTED_MAX = 10;

interface Choice {
  clock: Clock;
  env: {
    OLLAMA_HOST?: string | undefined;
    /** Where the demo model is, if not in this package. */
    TOLLGATE_DEMO_MODEL?: string | undefined;
  };
  /** What looks for engines on this machine. */
  find?: typeof findEngines;
  /** What opens the demo model. */
  openDemo?: (options: DemoOptions) => Promise<Engine>;
}

interface ChosenEngine {
  engine: Engine;
  /** The models to elect: those asked for, or all that it serves. */
  models: string[];
  /** The dispatch plane for a node with this engine: as it is, or with the faults of the scripted engine. */
  plane: (dial: Dial) => Dial;
}

export async function chooseEngine(flags: EngineSettings, choice: Choice): Promise<ChosenEngine> {
  const faults = new WireFaults();
  const engine = await build(flags, choice, faults);
  const plane = (dial: Dial): Dial => (isScripted(flags) ? faults.decorate(dial) : dial);
  const models = flags.models ?? engine.models;
  const missing = models.filter((model) => !engine.models.includes(model));
  if (missing.length === 0) return { engine, models, plane };
  await engine.close();
  throw new UsageError([
    `--models: ${engine.name} does not serve ${missing.join(", ")}; it serves ${engine.models.join(", ")}`,
  ]);
}

const isScripted = ({ engine, modelFile }: EngineSettings): boolean => engine === "scripted" && modelFile === undefined;

async function build(flags: EngineSettings, choice: Choice, faults: WireFaults): Promise<Engine> {
  const models = flags.models ?? ACTIVE_MODELS;
  if (flags.modelFile !== undefined) return fileEngine(flags.modelFile, flags, choice);
  if (isScripted(flags)) return scriptedEngine({ models, slots: flags.slots, clock: choice.clock, faults });
  if (flags.engine === "openai") return namedEngine(flags, choice);
  if (flags.engine === "auto") return foundEngines(flags, choice);
  return demo(models, flags.slots, choice);
}

/** llama.cpp is loaded only where it is used: it takes a third of a second and 50 MB. */
async function demo(models: string[], slots: number | undefined, { env, clock, ...choice }: Choice): Promise<Engine> {
  const open = choice.openDemo ?? (await import("../engines/demo.ts")).demoEngine;
  return open({ models, slots, modelFile: env.TOLLGATE_DEMO_MODEL, clock });
}

async function fileEngine(file: string, flags: EngineSettings, { clock }: Choice): Promise<Engine> {
  const model = flags.modelAs ?? catalogueModel(file);
  if (model === undefined)
    throw new UsageError([
      `--as is needed: the name ${basename(file)} does not say which model of the catalogue it is`,
    ]);
  const { llamaCppEngine } = await import("../engines/llama-cpp/llama-cpp.ts");
  return llamaCppEngine({ name: basename(file), file, models: [model], slots: flags.slots, clock }).catch(
    (cause: unknown) => {
      const reason = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
      const hint =
        cause instanceof Error && cause.name === "InsufficientMemoryError" ? "; fewer --slots need less" : "";
      throw new UsageError([`--model: ${file} cannot be run: ${reason}${hint}`]);
    },
  );
}

async function namedEngine(flags: EngineSettings, choice: Choice): Promise<Engine> {
  const url = flags.engineUrl as string;
  const found = await identifyEngine(url, { apiKey: flags.engineKey });
  if (found === undefined) throw new UsageError([`--engine-url: nothing at ${url} answers as an engine does`]);
  const models = new Map([...mapModels(found.models), ...flags.map]);
  if (models.size === 0) {
    const listed = found.models.slice(0, LISTED_MAX).join(", ") || "none";
    throw new UsageError([`--map is needed: none of the engine's models is known (it has: ${listed})`]);
  }
  return httpEngine(found, models, flags, choice);
}

function httpEngine(
  found: FoundEngine,
  models: ReadonlyMap<string, string>,
  { slots, engineKey: apiKey }: Pick<EngineSettings, "slots" | "engineKey">,
  { clock }: Choice,
): Engine {
  const { name, url, profile } = found;
  return openAiEngine({
    name,
    url,
    profile,
    models,
    apiKey,
    slots,
    slotsTold: found.slotsTold ? found.slots : undefined,
    listed: found.models,
    notes: notesOn(found, models, slots),
    clock,
  });
}

/**
 * What runs on this machine serves what it can. The demo model stands in for the rest of what was asked for by name, and
 * for everything where nothing else runs.
 */
async function foundEngines(flags: EngineSettings, choice: Choice): Promise<Engine> {
  const found = await (choice.find ?? findEngines)(usualAddresses(choice.env));
  const engines: Engine[] = [];
  const served = new Set<string>();
  for (const engine of found) {
    const models = modelsOf(engine, flags.models, served);
    if (models.size === 0) continue;
    for (const model of models.keys()) served.add(model);
    engines.push(httpEngine(engine, models, { slots: flags.slots, engineKey: undefined }, choice));
  }
  const wanted = flags.models ?? (engines.length === 0 ? ACTIVE_MODELS : []);
  const rest = wanted.filter((model) => !served.has(model));
  if (rest.length > 0) engines.push(await demo(rest, flags.slots, choice));
  const [only, ...others] = engines;
  return only !== undefined && others.length === 0 ? only : compositeEngine(engines);
}

function modelsOf(engine: FoundEngine, asked: string[] | undefined, served: Set<string>): Map<string, string> {
  const known = [...mapModels(engine.models)];
  return new Map(known.filter(([model]) => !served.has(model) && (asked?.includes(model) ?? true)));
}

/** The engine that a machine serves with. On a machine that logged in nothing stands in for an engine that is away. */
export async function engineFor(
  settings: EngineSettings & { settled: boolean; standIn: boolean },
  { clock, env, findEngines }: Pick<CommandContext, "clock" | "env" | "findEngines">,
): Promise<ChosenEngine> {
  if (settings.standIn) return chooseEngine(settings, { clock, env, find: findEngines });
  const searches = settings.engine === "auto" && settings.modelFile === undefined;
  const found = searches ? await findEngines(usualAddresses(env)) : [];
  if (searches) requireHeld(settings.models, found);
  try {
    return await chooseEngine(settings, { clock, env, find: async () => found });
  } catch (error) {
    // Not a mistake in this command line: the engine is not what it was when it was chosen.
    if (settings.settled && error instanceof UsageError) throw away(error.mistakes[0] ?? error.message);
    throw error;
  }
}

function requireHeld(models: string[] | undefined, found: FoundEngine[]): void {
  const held = new Set(found.flatMap((engine) => [...mapModels(engine.models).keys()]));
  if (held.size === 0) throw away("no engine on this machine holds a model of the catalogue");
  const missing = models?.filter((model) => !held.has(model)) ?? [];
  if (missing.length > 0) throw away(`no engine on this machine holds ${missing.join(", ")} now`);
}

const away = (message: string): CommandError =>
  new CommandError(message, { next: "start the engine, or choose again with tollgate-host elect" });

/** Whether models take this machine's memory: an engine elsewhere has its own, and the stand-ins need next to none. */
export function fillsThisMachine({ engine, engineUrl, modelFile }: EngineSettings): boolean {
  if (engine === "auto" || modelFile !== undefined) return true;
  return engineUrl !== undefined && isLoopback(engineUrl);
}
