/** The grammar of an output format: the sampler takes no token that would leave it. */
import type { OutputFormat } from "@tollgate/protocol/frames.ts";
import { type Llama, type LlamaGrammar, LlamaGrammarEvaluationState, type LlamaModel } from "node-llama-cpp";
import { EngineError } from "../engine.ts";
import { OBJECT_GRAMMAR, schemaGrammar } from "./schema-grammar.ts";

/** Throws EngineError with the blame on the prompt for a format that cannot be kept. */
export async function answerGrammar(
  llama: Llama,
  model: LlamaModel,
  format: OutputFormat,
): Promise<LlamaGrammarEvaluationState> {
  const text = format.type === "json_object" ? OBJECT_GRAMMAR : schemaGrammar(format.schema);
  let grammar: LlamaGrammar;
  try {
    grammar = await llama.createGrammar({ grammar: text });
  } catch {
    // The reason may quote the schema.
    throw new EngineError("prompt", "this engine cannot make a grammar from the schema");
  }
  return new LlamaGrammarEvaluationState({ model, grammar });
}
