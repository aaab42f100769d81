/** The engine whose models are up for election. */
import { usualAddresses } from "../../engines/detect.ts";
import type { CommandContext } from "../command.ts";
import { engineFor } from "../engine-for.ts";
import { CommandError } from "../errors.ts";
import type { EngineSettings } from "../flags.ts";
import type { CatalogueModel } from "../gateway/answers.ts";

/** The engine that holds the mapped models, named by its address from now on. */
export async function engineHolding(map: Map<string, string>, settings: EngineSettings, context: CommandContext) {
  const engines = await context.findEngines(usualAddresses(context.env));
  const names = [...map.values()];
  const holder = engines.find(({ models }) => names.every((name) => models.includes(name)));
  if (holder === undefined) {
    const held = engines.map(({ name, models }) => `${name}: ${models.join(", ") || "nothing"}`).join("; ");
    throw new CommandError(`no engine here holds ${names.join(" and ")} (${held || "none answers"})`, {
      next: "start it, or name its address with --engine openai --engine-url URL",
    });
  }
  return { ...settings, engine: "openai" as const, engineUrl: holder.url, map };
}

export async function openEngine(settings: EngineSettings, catalogue: CatalogueModel[], context: CommandContext) {
  const everything = settings.engine === "demo" || settings.engine === "scripted";
  const models = everything ? catalogue.map(({ model }) => model) : undefined;
  try {
    return await engineFor({ ...settings, models, settled: false, standIn: false }, context);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new CommandError(error.message, {
      next: "start an engine with one of the models in docs/hosts.md, or name it with --engine openai --engine-url URL",
      cause: error,
    });
  }
}
