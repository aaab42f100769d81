/** `tollgate-host elect`: chooses the models and the engine of this machine, and stores them for `up`. */

import { resolve } from "node:path";
import type { CommandInput } from "@tollgate/terminal/command.ts";
import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { listEngineAddresses } from "../../engines/detect-engines.ts";
import type { Engine } from "../../engines/engine.ts";
import { engineEnforcesFormat } from "../../engines/format-enforcement-check.ts";
import { EMBEDDING_MODELS } from "../../engines/model-names.ts";
import type { EngineSource } from "../choose-engine.ts";
import { type Command, type CommandContext, printResult } from "../command.ts";
import { ENGINE_FLAGS, type EngineSettings, parseEngineSettings } from "../flags.ts";
import { formatGibibytes } from "../format-values.ts";
import type { CatalogueModel } from "../gateway/gateway-answers.ts";
import { toServingSettings } from "../login-file.ts";
import { chooseNodeId, type LoginSession, openLoginSession } from "../login-session.ts";
import { computeMemoryForModelsBytes, findHardware } from "../machine/hardware.ts";
import { openLocalEngine } from "../open-local-engine.ts";
import { NODE_FLAG, parseModelMap, parseModels } from "../parse-arguments.ts";
import {
  checkTemplates,
  findTemplateMismatch,
  formatProposal,
  listCandidates,
  listModelObjections,
  type ModelCandidate,
  proposeModels,
} from "./model-candidates.ts";

/** How long to wait for an engine that is loading its model. */
const LOADING_MS_MAX = 60_000;

const DEMO_WARNING =
  "the demo model is for tests only: it fails the platform's test questions, and the node is quarantined";

export const electCommand: Command = {
  help: "choose the models that this node serves",
  flags: {
    models: { value: "A,B", help: "models to choose (default: the command proposes models, and you can change them)" },
    yes: { help: "accept the proposal without asking" },
    ...NODE_FLAG,
    ...ENGINE_FLAGS,
  },
  more: [
    "Electing a model means choosing it for this node: the platform then sends the node requests for this model.",
    "The command proposes models that an engine on this machine has, that fit into memory, and for which the engine counts tokens as the gateway does. It looks for engines at their usual ports, and for Ollama at OLLAMA_HOST. It waits up to a minute for an engine that is still loading.",
    "The command stores the chosen models and the engine's address, so that tollgate-host up needs no flags. If the engine needs a key, set the environment variable TOLLGATE_ENGINE_KEY; the command stores the key too.",
  ],
  example: "--models tiny-3b,embed-m3",
  run,
};

async function run({ flags, switches, json }: CommandInput, context: CommandContext): Promise<number> {
  const mistakes: string[] = [];
  const wrong = (mistake: string): undefined => void mistakes.push(mistake);
  const map = parseModelMap(flags.map, wrong);
  // If no flag names an engine, the engines on this machine are searched for the model names in --map.
  const searches = (flags.engine ?? "auto") === "auto" && flags.model === undefined;
  const fromFlags = parseEngineSettings(searches ? { ...flags, map: undefined } : flags, context.env, wrong);
  if (mistakes.length > 0) throw new UsageError(mistakes);

  const session = await openLoginSession(context);
  const node = chooseNodeId(session, flags.node);
  const settings = { ...fromFlags, addresses: session.login.serving?.addresses };
  const catalogue = await session.gateway.models();
  const found = searches && map.size > 0 ? await engineHolding(map, settings, context) : absolute(settings);
  const { engine, sources } = await openEngine(found, catalogue, context);
  try {
    const memoryBytes = computeMemoryForModelsBytes(await findHardware(context.machine));
    const candidates = await listCandidates(catalogue, engine, { memoryBytes, settings: found });
    const models = await decide(
      candidates,
      settings.models,
      { yes: switches.has("yes"), json },
      { engine, memoryBytes, context },
    );
    const structured = await keepingFormats(engine, models);
    const elected = await session.gateway.elect(node, models);
    await remember(session, context, { settings: { ...found, addresses: addressesOf(sources, models) }, models, node });
    if (found.engine === "demo") context.terminal.remark(`warning: ${DEMO_WARNING}`);
    const report = {
      ...{ node, state: elected.state, engine: engine.name, memory_bytes: memoryBytes, models, candidates },
      structured_output: structured,
    };
    printResult(context, json, report, () => [
      `this node now offers ${models.join(", ")}, served by ${engine.name}; the node's state is ${elected.state}`,
      `structured output: ${structured.join(", ") || "none of these models supports JSON schemas"}`,
      "next: tollgate-host doctor, then tollgate-host up",
    ]);
    return 0;
  } finally {
    await engine.close();
  }
}

/**
 * The models whose engine enforces output formats. They are tested one after the other, because each may have to be
 * loaded.
 */
async function keepingFormats(engine: Engine, models: string[]): Promise<string[]> {
  const keeping: string[] = [];
  for (const model of models)
    if (!EMBEDDING_MODELS.includes(model) && (await engineEnforcesFormat(engine, model))) keeping.push(model);
  return keeping;
}

/** Makes paths absolute before they are stored, because a service starts in another directory. */
const absolute = (settings: EngineSettings): EngineSettings =>
  settings.modelFile === undefined ? settings : { ...settings, modelFile: resolve(settings.modelFile) };

interface Deciding {
  engine: Engine;
  memoryBytes: number;
  context: CommandContext;
}

async function decide(
  candidates: ModelCandidate[],
  asked: string[] | undefined,
  flags: { yes: boolean; json: boolean },
  { engine, memoryBytes, context }: Deciding,
): Promise<string[]> {
  const { terminal, clock } = context;
  await checkTemplates(asked ?? proposeModels(candidates), candidates, { engine, clock });
  if (!flags.json) {
    terminal.print(`${engine.name}, ${formatGibibytes(memoryBytes)} for models`);
    for (const line of [...formatProposal(candidates, terminal.paint), ...(engine.notes ?? [])]) terminal.print(line);
  }
  const proposal = proposeModels(candidates);
  if (asked === undefined && proposal.length === 0) throw nothingToServe(candidates);
  const models = asked ?? (flags.yes ? proposal : await question(proposal, context));
  const wrong = listModelObjections(models, candidates);
  if (wrong.length > 0) throw new UsageError(wrong);
  await checkTemplates(models, candidates, { engine, clock });
  const objection = findTemplateMismatch(models, candidates);
  if (objection !== undefined) throw objection;
  return models;
}

function nothingToServe(candidates: ModelCandidate[]): CommandError {
  const message = "this machine has no model that it can serve";
  const objection = findTemplateMismatch(
    candidates.map(({ model }) => model),
    candidates,
  );
  if (objection?.next !== undefined)
    return new CommandError(`${message}: ${objection.message}`, { next: objection.next });
  return new CommandError(message, {
    next: "load one of the models above into the engine, or map another with --map MODEL=ENGINE_MODEL",
  });
}

async function question(proposal: string[], { terminal }: CommandContext): Promise<string[]> {
  if (terminal.ask === undefined)
    throw new UsageError(
      "--yes or --models A,B is missing: standard input is not a terminal, so the command cannot ask",
    );
  const usual = proposal.join(",");
  const said = await terminal.ask(`Choose the models that the node serves [${usual}]: `);
  const mistakes: string[] = [];
  const models = said === "" ? proposal : parseModels(said, (mistake) => void mistakes.push(mistake));
  if (models === undefined) throw new UsageError(mistakes);
  return models;
}

/** The addresses of the engines that serve these models. */
function addressesOf(sources: EngineSource[], models: string[]): EngineSettings["addresses"] {
  const used = sources.filter((source) => source.models.some((model) => models.includes(model)));
  return used.length === 0 ? undefined : Object.fromEntries(used.map(({ kind, url }) => [kind, url]));
}

interface Election {
  settings: EngineSettings;
  models: string[];
  node: string;
}

/** Stores the settings for `up`, unless the elected node is another machine's. */
async function remember({ login }: LoginSession, { logins }: CommandContext, election: Election): Promise<void> {
  if (login.node?.id !== election.node) return;
  await logins.write({ ...login, serving: toServingSettings(election.settings, election.models) });
}

/** Finds the engine that has all mapped models, and names it by its address. */
async function engineHolding(map: Map<string, string>, settings: EngineSettings, context: CommandContext) {
  const engines = await context.findEngines(listEngineAddresses(context.env, settings.addresses));
  const names = [...map.values()];
  const holder = engines.find(({ models }) => names.every((name) => models.includes(name)));
  if (holder === undefined) {
    const held = engines.map(({ name, models }) => `${name}: ${models.join(", ") || "nothing"}`).join("; ");
    throw new CommandError(`no engine on this machine has ${names.join(" and ")} (engines found: ${held || "none"})`, {
      next: "start the engine, or give its address with --engine openai --engine-url URL",
    });
  }
  return { ...settings, engine: "openai" as const, engineUrl: holder.url, map };
}

async function openEngine(settings: EngineSettings, catalogue: CatalogueModel[], context: CommandContext) {
  const everything = settings.engine === "demo" || settings.engine === "scripted";
  const models = everything ? catalogue.map(({ model }) => model) : undefined;
  const tell = (line: string): void => context.terminal.progress.step(`waiting: ${line}`);
  const patience = { waitMs: LOADING_MS_MAX, tell, signal: new AbortController().signal };
  return openLocalEngine({ ...settings, models, settled: false, demoFallback: false }, context, patience);
}
