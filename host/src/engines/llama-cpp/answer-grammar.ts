/** Builds the llama.cpp grammar of an output format. It restricts the tokens that the sampler may choose. */
import type { OutputFormat } from "@tollgate/protocol/frames.ts";
import { type Llama, type LlamaGrammar, LlamaGrammarEvaluationState, type LlamaModel } from "node-llama-cpp";
import { EngineError } from "../engine.ts";
import { buildSchemaGrammar, OBJECT_GRAMMAR } from "./schema-grammar.ts";

/** Throws an EngineError of kind "prompt" for a format that cannot be enforced. */
export async function buildAnswerGrammar(
  llama: Llama,
  model: LlamaModel,
  format: OutputFormat,
): Promise<LlamaGrammarEvaluationState> {
  const text = format.type === "json_object" ? OBJECT_GRAMMAR : buildSchemaGrammar(format.schema);
  let grammar: LlamaGrammar;
  try {
    grammar = await llama.createGrammar({ grammar: text });
  } catch {
    // The library's own message is not passed on, because it may quote the schema.
    throw new EngineError("prompt", "this engine cannot make a grammar from the schema");
  }
  return new LlamaGrammarEvaluationState({ model, grammar });
}
