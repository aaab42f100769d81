/** Compares the catalogue's models with this machine: the models it can serve, and the models to propose. */

import { CommandError } from "@tollgate/terminal/errors.ts";
import { alignRows, type Paint } from "@tollgate/terminal/terminal-text.ts";
import type { Clock } from "../../clock.ts";
import type { Engine } from "../../engines/engine.ts";
import { ACTIVE_MODELS } from "../../engines/model-names.ts";
import { computeModelBytes, modelFitsMemory } from "../../engines/model-requirements.ts";
import {
  checkEngineTemplate,
  describeTemplateProblem,
  describeTemplateRemedy,
  type TemplateVerdict,
} from "../../engines/template-check.ts";
import { checkEngineTokenizer, type TokenizerVerdict } from "../../engines/tokenizer-check.ts";
import { usesLocalMemory } from "../choose-engine.ts";
import type { EngineSettings } from "../flags.ts";
import { formatDollars, formatGibibytes } from "../format-values.ts";
import type { CatalogueModel } from "../gateway/gateway-answers.ts";

export interface ModelCandidate {
  model: string;
  kind: CatalogueModel["kind"];
  priceInMicro1m: number | null;
  priceOutMicro1m: number | null;
  /** Whether an engine on this machine has the model. */
  held: boolean;
  /**
   * The memory that the model needs on this machine. Undefined if it is unknown or the engine runs on another machine.
   */
  bytesNeeded: number | undefined;
  fits: boolean;
  /** Whether the engine's tokenizer is the gateway's. Unknown if the engine does not report its tokens. */
  tokenizer: TokenizerVerdict;
  /** Whether the engine's chat template is the one by which the gateway bills. Undefined if it was not checked. */
  template: TemplateVerdict | undefined;
}

export async function listCandidates(
  catalogue: CatalogueModel[],
  engine: Engine,
  { memoryBytes, settings }: { memoryBytes: number; settings: EngineSettings },
): Promise<ModelCandidate[]> {
  const here = usesLocalMemory(settings);
  return Promise.all(
    catalogue.map(async (entry): Promise<ModelCandidate> => {
      const held = engine.models.includes(entry.model);
      const known = ACTIVE_MODELS.includes(entry.model);
      return {
        model: entry.model,
        kind: entry.kind,
        priceInMicro1m: entry.price_in_micro_1m,
        priceOutMicro1m: entry.price_out_micro_1m,
        held,
        bytesNeeded: here ? computeModelBytes(entry.model) : undefined,
        fits: !here || !known || modelFitsMemory(entry.model, memoryBytes),
        tokenizer: held ? await checkEngineTokenizer(engine, entry.model) : "unknown",
        template: undefined,
      };
    }),
  );
}

/**
 * Tests the chat templates of these models one after the other, because each may have to be loaded. Skips models that
 * were already tested.
 */
export async function checkTemplates(
  models: readonly string[],
  candidates: readonly ModelCandidate[],
  { engine, clock }: { engine: Engine; clock: Clock },
): Promise<void> {
  for (const candidate of candidates)
    if (models.includes(candidate.model) && candidate.held)
      candidate.template ??= await checkEngineTemplate(engine, candidate.model, clock);
}

/** The proposed models, in the catalogue's order. */
export function proposeModels(candidates: readonly ModelCandidate[]): string[] {
  return candidates.filter((candidate) => obstacleOf(candidate) === undefined).map(({ model }) => model);
}

/** The reason why a model is not proposed. Undefined for a proposed model. */
function obstacleOf({ held, fits: fitsMemory, tokenizer, template, bytesNeeded }: ModelCandidate): string | undefined {
  if (!held) return "no engine on this machine has this model";
  if (tokenizer === "differs") return "the engine's token counts differ from this model's, so it runs another model";
  const trouble = template && describeTemplateProblem(template);
  if (trouble !== undefined) return trouble;
  if (!fitsMemory) return `needs about ${bytesNeeded === undefined ? "more memory" : formatGibibytes(bytesNeeded)}`;
  return undefined;
}

/**
 * The error for chosen models whose engine uses another chat template than the one by which the gateway bills. These
 * must not be elected.
 */
export function findTemplateMismatch(
  models: readonly string[],
  candidates: readonly ModelCandidate[],
): CommandError | undefined {
  const found = candidates.flatMap(({ model, template }) => {
    const trouble = models.includes(model) && template !== undefined ? describeTemplateProblem(template) : undefined;
    return trouble === undefined || template === undefined ? [] : [{ line: `${model}: ${trouble}`, template }];
  });
  const [first] = found;
  if (first === undefined) return undefined;
  return new CommandError(found.map(({ line }) => line).join("; "), { next: describeTemplateRemedy(first.template) });
}

/**
 * The problems of the chosen models, one per line. A host may elect a model that seems too large, but no model that
 * differs from the catalogue's.
 */
export function listModelObjections(models: readonly string[], candidates: readonly ModelCandidate[]): string[] {
  return models.flatMap((model) => {
    const candidate = candidates.find((known) => known.model === model);
    if (candidate === undefined)
      return [
        `--models: ${model} is not in the catalogue; its models are ${candidates.map((c) => c.model).join(", ")}`,
      ];
    if (!candidate.held || candidate.tokenizer === "differs") return [`--models: ${model}: ${obstacleOf(candidate)}`];
    return [];
  });
}

export function formatProposal(candidates: readonly ModelCandidate[], paint: Paint): string[] {
  const weighed = candidates.some(({ bytesNeeded }) => bytesNeeded !== undefined);
  const row = (model: string, memory: string, ...rest: string[]): string[] =>
    weighed ? [model, memory, ...rest] : [model, ...rest];
  const rows = candidates.map((candidate) => {
    const { model, bytesNeeded, tokenizer, template } = candidate;
    const obstacle = obstacleOf(candidate);
    const looked = [tokenizer === "matches" && "tokenizer", template?.verdict === "matches" && "template"];
    const names = looked.filter((name) => name !== false).join(" and ");
    const checked = names === "" ? "" : `, ${names} checked`;
    const verdict = obstacle === undefined ? paint.good(`yes${checked}`) : paint.dim(`no: ${obstacle}`);
    return row(model, bytesNeeded === undefined ? "" : formatGibibytes(bytesNeeded), priceOf(candidate), verdict);
  });
  const header = row("model", "memory", "a builder pays per 1M tokens", "can be served here");
  return alignRows([header, ...rows], ["left", weighed ? "right" : "left", "left", "left"]);
}

function priceOf({ priceInMicro1m, priceOutMicro1m }: ModelCandidate): string {
  const parts = [
    priceInMicro1m === null ? undefined : `${formatDollars(String(priceInMicro1m))} in`,
    priceOutMicro1m === null ? undefined : `${formatDollars(String(priceOutMicro1m))} out`,
  ];
  return parts.filter((part) => part !== undefined).join(", ");
}
