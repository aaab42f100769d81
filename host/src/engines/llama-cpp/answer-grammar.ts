/** The grammar of an output format: the sampler takes no token that would leave it. */
import type { OutputFormat } from "@tollgate/protocol/frames.ts";
import { type Llama, type LlamaGrammar, LlamaGrammarEvaluationState, type LlamaModel } from "node-llama-cpp";
import { EngineError } from "../engine.ts";
import { grammarSchema } from "./schema-subset.ts";

const ANY_OBJECT = { type: "object" };
/** The library wants line breaks after the answer, because not every model ends there. Here it can do nothing else. */
const LINES_AFTER = / "(\\n)+" \[\\n\]\*$/m;
/** With one, `1e-5` would be an integer, and `1e99999` a number that no reader takes. */
const EXPONENT = / \(\[eE\] \[-\+\]\? \("0" \| \[1-9\] \[0-9\]\{0,15\}\)\)\?/g;

/** Throws EngineError with the blame on the prompt for a format that cannot be kept. */
export async function answerGrammar(
  llama: Llama,
  model: LlamaModel,
  format: OutputFormat,
): Promise<LlamaGrammarEvaluationState> {
  const schema = grammarSchema(format.type === "json_object" ? ANY_OBJECT : format.schema);
  let written: LlamaGrammar;
  let grammar: LlamaGrammar;
  try {
    written = await llama.createGrammarForJsonSchema(schema);
    grammar = await llama.createGrammar({ grammar: written.grammar.replace(LINES_AFTER, "").replace(EXPONENT, "") });
  } catch {
    // The reason may quote the schema.
    throw new EngineError("prompt", "this engine cannot make a grammar from the schema");
  }
  // Reaches into what the library writes, whose version is pinned; one that writes otherwise is refused, not trusted.
  if (!LINES_AFTER.test(written.grammar))
    throw new Error("this version of node-llama-cpp writes grammars in an unknown format");
  return new LlamaGrammarEvaluationState({ model, grammar });
}
