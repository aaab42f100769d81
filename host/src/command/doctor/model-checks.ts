/** What the doctor asks of an engine for each model that was elected. */
import type { Clock } from "../../clock.ts";
import type { Engine } from "../../engines/engine.ts";
import { engineTemplate, templateRemedy, templateTrouble } from "../../engines/template-check.ts";
import { engineTokenizer } from "../../engines/tokenizer-check.ts";
import { type Check, fail, ok } from "./checks.ts";

/** Undefined where there is nothing to say: the engine does not tell, or the model has no such thing. */
type ModelCheck = (engine: Engine, model: string, clock: Clock) => Promise<Check | undefined>;

/** In the order in which they are made, each for all models. A further check is a further line. */
export const MODEL_CHECKS: readonly ModelCheck[] = [tokenizerCheck, templateCheck];

async function tokenizerCheck(engine: Engine, model: string): Promise<Check | undefined> {
  const verdict = await engineTokenizer(engine, model);
  if (verdict === "matches") return ok("tokenizer", `${model}: as the gateway counts`);
  if (verdict === "unknown") return undefined;
  return fail("tokenizer", `${model}: the engine's model is another one`, "tollgate-host elect maps the right one");
}

async function templateCheck(engine: Engine, model: string, clock: Clock): Promise<Check | undefined> {
  const template = await engineTemplate(engine, model, clock);
  if (template.verdict === "unknown") return undefined;
  if (template.verdict === "matches") return ok("template", `${model}: ${template.by}`);
  return fail("template", `${model}: ${templateTrouble(template)}`, templateRemedy(template));
}
