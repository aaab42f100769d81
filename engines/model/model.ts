/**
 * The model that every engine runs: the tokenizer and the chat template of Llama 3.2 with random weights. It is
 * generated deterministically, and cached until one of its sources changes.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ENGINE_CACHE_DIRECTORY } from "../install/cache.ts";
import { encodeGguf } from "./gguf.ts";
import { encodeSafetensors } from "./safetensors.ts";
import { computeLikelihood } from "./token-likelihoods.ts";
import { fetchTokenizer, type Tokenizer } from "./tokenizer.ts";
import { MODEL_SHAPE, makeWeights } from "./weights.ts";

/** The name that engines report. The agent finds the model in the catalogue by it. */
export const MODEL_NAME = "Llama-3.2-3B-Instruct";

/** The sampling defaults of the published model. */
const USUAL_SAMPLING = { do_sample: true, temperature: 0.6, top_p: 0.9 };

export interface TinyModel {
  /** The folder with the model in the published format (safetensors). */
  folder: string;
  /** The model in a single GGUF file. */
  gguf: string;
}

export async function ensureTinyModel(): Promise<TinyModel> {
  const home = join(ENGINE_CACHE_DIRECTORY, `model-${await digestOfSources()}`);
  const model = { folder: join(home, MODEL_NAME), gguf: join(home, `${MODEL_NAME}-F16.gguf`) };
  if (existsSync(home)) return model;
  const made = `${home}.partial`;
  await rm(made, { recursive: true, force: true });
  await mkdir(join(made, MODEL_NAME), { recursive: true });
  const tokenizer = fetchTokenizer();
  const tensors = makeWeights(computeLikelihood(tokenizer));
  const files = { ...tokenizer.files, ...settingsOf(tokenizer), "model.safetensors": encodeSafetensors(tensors) };
  for (const [name, content] of Object.entries(files)) await writeFile(join(made, MODEL_NAME, name), content);
  await writeFile(join(made, `${MODEL_NAME}-F16.gguf`), encodeGguf(tensors, tokenizer, MODEL_NAME));
  await rename(made, home);
  return model;
}

function settingsOf({ tokens }: Tokenizer): Record<string, string> {
  const idOf = (token: string): number => tokens.indexOf(token);
  const ends = { bos_token_id: idOf("<|begin_of_text|>"), eos_token_id: idOf("<|eot_id|>") };
  const config = {
    architectures: ["LlamaForCausalLM"],
    model_type: "llama",
    ...ends,
    vocab_size: tokens.length,
    hidden_size: MODEL_SHAPE.width,
    intermediate_size: MODEL_SHAPE.inner,
    num_hidden_layers: MODEL_SHAPE.layers,
    num_attention_heads: MODEL_SHAPE.heads,
    num_key_value_heads: MODEL_SHAPE.keyValueHeads,
    head_dim: MODEL_SHAPE.headWidth,
    max_position_embeddings: MODEL_SHAPE.contextTokens,
    rms_norm_eps: MODEL_SHAPE.normEpsilon,
    rope_theta: MODEL_SHAPE.ropeBase,
    hidden_act: "silu",
    tie_word_embeddings: false,
    torch_dtype: "float16",
    transformers_version: "4.45.0",
  };
  return {
    "config.json": JSON.stringify(config),
    "generation_config.json": JSON.stringify({ ...ends, ...USUAL_SAMPLING }),
  };
}

async function digestOfSources(): Promise<string> {
  const hash = createHash("sha256");
  for (const name of (await readdir(import.meta.dirname)).sort())
    hash.update(await readFile(join(import.meta.dirname, name)));
  return hash.digest("hex").slice(0, 12);
}
