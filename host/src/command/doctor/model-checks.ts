/** The doctor's checks of an engine for each elected model. */

import { type CheckResult, failedCheck, passedCheck, warningCheck } from "@tollgate/terminal/check-results.ts";
import type { Clock } from "../../clock.ts";
import { type Engine, EngineError } from "../../engines/engine.ts";
import { engineEnforcesFormat } from "../../engines/format-enforcement-check.ts";
import { EMBEDDING_MODELS } from "../../engines/model-names.ts";
import { checkStopStrings } from "../../engines/stop-string-check.ts";
import { checkEngineTemplate, describeTemplateProblem, describeTemplateRemedy } from "../../engines/template-check.ts";
import { checkEngineTokenizer } from "../../engines/tokenizer-check.ts";

/**
 * A check of one model on an engine. Returns undefined if the engine does not report what is checked, or if the check
 * does not apply to the model.
 */
export type ModelCheck = (engine: Engine, model: string, clock: Clock) => Promise<CheckResult | undefined>;

/** The checks run in this order, each for all models. */
export const MODEL_CHECKS: readonly ModelCheck[] = [tokenizerCheck, templateCheck];
/** Checks that make the engine generate text. The flag --no-speed skips them. */
export const GENERATION_CHECKS: readonly ModelCheck[] = [stopCheck, formatCheck];

async function tokenizerCheck(engine: Engine, model: string): Promise<CheckResult | undefined> {
  const verdict = await checkEngineTokenizer(engine, model);
  if (verdict === "matches") return passedCheck("tokenizer", `${model}: the engine counts tokens as the gateway does`);
  if (verdict === "unknown") return undefined;
  return failedCheck(
    "tokenizer",
    `${model}: the engine's token counts differ from this model's, so it runs another model`,
    "run tollgate-host elect to choose the model that the engine runs",
  );
}

async function templateCheck(engine: Engine, model: string, clock: Clock): Promise<CheckResult | undefined> {
  const template = await checkEngineTemplate(engine, model, clock);
  if (template.verdict === "unknown") return undefined;
  if (template.verdict === "matches") return passedCheck("template", `${model}: ${template.by}`);
  return failedCheck("template", `${model}: ${describeTemplateProblem(template)}`, describeTemplateRemedy(template));
}

async function stopCheck(engine: Engine, model: string, clock: Clock): Promise<CheckResult | undefined> {
  if (EMBEDDING_MODELS.includes(model)) return undefined;
  const verdict = await checkStopStrings(engine, model, clock).catch((error: unknown) => {
    // An engine that does not answer is reported by the speed test.
    if (error instanceof EngineError) return undefined;
    throw error;
  });
  if (verdict !== "differs") return undefined;
  return warningCheck(
    "stops",
    `${model}: answers do not end at a stop string as they should`,
    "try a newer version of the engine",
  );
}

/**
 * Reports whether the engine enforces output formats. Without them the check still passes: the model then gets no
 * requests for structured output.
 */
async function formatCheck(engine: Engine, model: string): Promise<CheckResult | undefined> {
  if (EMBEDDING_MODELS.includes(model)) return undefined;
  const keeps = await engineEnforcesFormat(engine, model);
  if (keeps === undefined) return undefined;
  return passedCheck(
    "structured",
    `${model}: ${keeps ? "supports JSON schemas" : "does not support JSON schemas, so the node gets no requests that have a JSON schema"}`,
  );
}
