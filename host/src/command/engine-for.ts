/** The engine that a machine serves with. On a machine that logged in nothing stands in for an engine that is away. */
import { type FoundEngine, usualAddresses } from "../engines/detect.ts";
import { mapModels } from "../engines/models.ts";
import { type ChosenEngine, chooseEngine } from "./choose-engine.ts";
import type { CommandContext } from "./command.ts";
import { CommandError } from "./errors.ts";
import type { EngineSettings, Remembered } from "./flags.ts";
import { isLoopback } from "./given.ts";
import type { Login, Serving } from "./login-file.ts";
import { UsageError } from "./usage.ts";

type Around = Pick<CommandContext, "clock" | "env" | "findEngines">;

export async function engineFor(
  settings: EngineSettings & { settled: boolean; standIn: boolean },
  around: Around,
): Promise<ChosenEngine> {
  const { clock, env, findEngines } = around;
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

export function rememberedOf(login: Login): Remembered {
  const { gateway, token, node, serving } = login;
  return { gateway, token, node, serving: serving === undefined ? undefined : settingsOf(serving) };
}

export function settingsOf(serving: Serving): EngineSettings {
  return {
    engine: serving.engine,
    engineUrl: serving.engine_url,
    engineKey: serving.engine_key,
    map: new Map(Object.entries(serving.map ?? {})),
    models: serving.models,
    slots: serving.slots,
    modelFile: serving.model_file,
    modelAs: serving.model_as,
  };
}

export function servingOf(settings: EngineSettings, models: string[]): Serving {
  const { engine, engineUrl, engineKey, map, slots, modelFile, modelAs } = settings;
  return {
    engine,
    models,
    ...(engineUrl === undefined ? {} : { engine_url: engineUrl }),
    ...(engineKey === undefined ? {} : { engine_key: engineKey }),
    ...(map.size === 0 ? {} : { map: Object.fromEntries(map) }),
    ...(slots === undefined ? {} : { slots }),
    ...(modelFile === undefined ? {} : { model_file: modelFile }),
    ...(modelAs === undefined ? {} : { model_as: modelAs }),
  };
}
