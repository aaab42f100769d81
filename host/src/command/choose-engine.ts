/** From the flags to an engine. */
import type { Clock } from "../clock.ts";
import { compositeEngine } from "../engines/composite.ts";
import { type FoundEngine, findEngines, listModels, usualAddresses } from "../engines/detect.ts";
import type { Engine } from "../engines/engine.ts";
import { ACTIVE_MODELS, mapModels } from "../engines/models.ts";
import { apiAddress, openAiEngine } from "../engines/openai.ts";
import { scriptedEngine } from "../engines/scripted.ts";
import { type UpFlags, UsageError } from "./flags.ts";

const LIST_MS_MAX = 5_000;
const LISTED_MAX = 10;

export interface Choice {
  clock: Clock;
  env: {
    OLLAMA_HOST?: string | undefined;
    /** Where the demo model is, if not in this package. */
    TOLLGATE_DEMO_MODEL?: string | undefined;
  };
  /** What looks for engines on this machine. */
  find?: typeof findEngines;
}

/** llama.cpp is loaded only where it is used: it takes a third of a second and 50 MB. */
async function demo(models: string[], slots: number | undefined, { env }: Choice): Promise<Engine> {
  const { demoEngine } = await import("../engines/demo.ts");
  return demoEngine({ models, slots, modelFile: env.TOLLGATE_DEMO_MODEL });
}

type EngineFlags = Pick<UpFlags, "engine" | "engineUrl" | "engineKey" | "map" | "models" | "slots">;

/** The engine and the models to elect: those asked for, or all that it serves. */
export async function chooseEngine(flags: EngineFlags, choice: Choice): Promise<{ engine: Engine; models: string[] }> {
  const engine = await build(flags, choice);
  const models = flags.models ?? engine.models;
  const missing = models.filter((model) => !engine.models.includes(model));
  if (missing.length === 0) return { engine, models };
  await engine.close();
  throw new UsageError([
    `--models: ${engine.name} does not serve ${missing.join(", ")}; it serves ${engine.models.join(", ")}`,
  ]);
}

async function build(flags: EngineFlags, choice: Choice): Promise<Engine> {
  const models = flags.models ?? ACTIVE_MODELS;
  if (flags.engine === "scripted") return scriptedEngine({ models, slots: flags.slots, clock: choice.clock });
  if (flags.engine === "openai") return namedEngine(flags, choice.clock);
  if (flags.engine === "auto") return foundEngines(flags, choice);
  return demo(models, flags.slots, choice);
}

async function namedEngine(flags: EngineFlags, clock: Clock): Promise<Engine> {
  const url = flags.engineUrl as string;
  const address = apiAddress(url);
  const names = await listModels(address, { apiKey: flags.engineKey, timeoutMs: LIST_MS_MAX });
  if (names === undefined) throw new UsageError([`--engine-url: ${address}/models does not answer as an engine does`]);
  const models = new Map([...mapModels(names), ...flags.map]);
  if (models.size === 0) {
    const listed = names.slice(0, LISTED_MAX).join(", ") || "none";
    throw new UsageError([`--map is needed: none of the engine's models is known (it has: ${listed})`]);
  }
  const name = `engine at ${new URL(url).host}`;
  return openAiEngine({ name, url, models, apiKey: flags.engineKey, slots: flags.slots, clock });
}

/**
 * What runs on this machine serves what it can. The demo model stands in for the rest of what was asked for by name, and
 * for everything where nothing else runs.
 */
async function foundEngines(flags: EngineFlags, choice: Choice): Promise<Engine> {
  const found = await (choice.find ?? findEngines)(usualAddresses(choice.env));
  const engines: Engine[] = [];
  const served = new Set<string>();
  for (const engine of found) {
    const models = modelsOf(engine, flags.models, served);
    if (models.size === 0) continue;
    for (const model of models.keys()) served.add(model);
    const { name, url, tellsProgress } = engine;
    engines.push(
      openAiEngine({ name, url, models, tellsProgress, slots: flags.slots ?? engine.slots, clock: choice.clock }),
    );
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
