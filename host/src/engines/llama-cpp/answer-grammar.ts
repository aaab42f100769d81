/** The grammar of an output format, which restricts the sampler's tokens. */
import type { OutputFormat } from "@tollgate/protocol/frames.ts";
import { type Llama, type LlamaGrammar, LlamaGrammarEvaluationState, type LlamaModel } from "node-llama-cpp";
import { EngineError } from "../engine.ts";
import { OBJECT_GRAMMAR, schemaGrammar } from "./schema-grammar.ts";

/** Throws EngineError that blames the prompt for a format that cannot be enforced. */
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
    // The library's message may quote the schema.
    throw new EngineError("prompt", "this engine cannot make a grammar from the schema");
  }
  return new LlamaGrammarEvaluationState({ model, grammar });
}
