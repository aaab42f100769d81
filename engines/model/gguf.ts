/** Writes the model in GGUF, llama.cpp's file format, which Ollama and the agent's own engine also read. */
import { encodeHalfFloats } from "./safetensors.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { MODEL_SHAPE, type Tensor } from "./weights.ts";

const VERSION = 3;
const ALIGNMENT = 32;
const KIND = { u32: 4, i32: 5, f32: 6, string: 8, array: 9 };
const F32 = 0;
const F16 = 1;
const TOKEN_NORMAL = 1;
const TOKEN_CONTROL = 3;

const NAMES: [published: RegExp, here: string][] = [
  [/^model\.embed_tokens/, "token_embd"],
  [/^model\.norm/, "output_norm"],
  [/^lm_head/, "output"],
  [/^model\.layers\.(\d+)\.input_layernorm/, "blk.$1.attn_norm"],
  [/^model\.layers\.(\d+)\.self_attn\.([qkv])_proj/, "blk.$1.attn_$2"],
  [/^model\.layers\.(\d+)\.self_attn\.o_proj/, "blk.$1.attn_output"],
  [/^model\.layers\.(\d+)\.post_attention_layernorm/, "blk.$1.ffn_norm"],
  [/^model\.layers\.(\d+)\.mlp\.(gate|up|down)_proj/, "blk.$1.ffn_$2"],
];

export function encodeGguf(tensors: readonly Tensor[], tokenizer: Tokenizer, name: string): Buffer {
  const facts = factsOf(tokenizer, name);
  const infos: Buffer[] = [];
  const parts: Buffer[] = [];
  let offset = 0;
  for (const { name, shape, values } of tensors.map(rotated)) {
    const bytes = shape.length === 1 ? Buffer.from(values.buffer) : encodeHalfFloats(values);
    const [published, here] = NAMES.find(([pattern]) => pattern.test(name)) ?? [];
    if (published === undefined || here === undefined) throw new Error(`${name} has no name in a GGUF file`);
    infos.push(string(name.replace(published, here)), u32(shape.length), ...shape.toReversed().map(u64));
    infos.push(u32(shape.length === 1 ? F32 : F16), u64(offset));
    parts.push(bytes, padding(bytes.length));
    offset += bytes.length + padding(bytes.length).length;
  }
  const head = Buffer.concat([
    Buffer.from("GGUF"),
    u32(VERSION),
    u64(tensors.length),
    u64(facts.length),
    ...facts,
    ...infos,
  ]);
  return Buffer.concat([head, padding(head.length), ...parts]);
}

/**
 * Reorders the rows of a tensor: llama.cpp rotates neighboring channels of a head, the published format channels half a
 * head apart.
 */
function rotated(tensor: Tensor): Tensor {
  if (!/\.(q|k)_proj/.test(tensor.name)) return tensor;
  const { headWidth, width } = MODEL_SHAPE;
  const values = new Float32Array(tensor.values.length);
  const half = headWidth / 2;
  for (let row = 0; row < values.length / width; row++) {
    const [head, at] = [Math.floor(row / headWidth), row % headWidth];
    const from = head * headWidth + (at % 2) * half + Math.floor(at / 2);
    values.set(tensor.values.subarray(from * width, (from + 1) * width), row * width);
  }
  return { ...tensor, values };
}

function factsOf({ tokens, merges, specialFrom, chatTemplate }: Tokenizer, name: string): Buffer[] {
  const fact = (key: string, kind: number, value: Buffer): Buffer => Buffer.concat([string(key), u32(kind), value]);
  const whole = (key: string, value: number): Buffer => fact(key, KIND.u32, u32(value));
  const text = (key: string, value: string): Buffer => fact(key, KIND.string, string(value));
  const list = (key: string, kind: number, values: Buffer[]): Buffer =>
    fact(key, KIND.array, Buffer.concat([u32(kind), u64(values.length), ...values]));
  const idOf = (token: string): number => tokens.indexOf(token);
  return [
    text("general.architecture", "llama"),
    text("general.name", name),
    whole("general.file_type", 1),
    whole("llama.block_count", MODEL_SHAPE.layers),
    whole("llama.context_length", MODEL_SHAPE.contextTokens),
    whole("llama.embedding_length", MODEL_SHAPE.width),
    whole("llama.feed_forward_length", MODEL_SHAPE.inner),
    whole("llama.attention.head_count", MODEL_SHAPE.heads),
    whole("llama.attention.head_count_kv", MODEL_SHAPE.keyValueHeads),
    whole("llama.attention.key_length", MODEL_SHAPE.headWidth),
    whole("llama.attention.value_length", MODEL_SHAPE.headWidth),
    whole("llama.rope.dimension_count", MODEL_SHAPE.headWidth),
    whole("llama.vocab_size", tokens.length),
    fact("llama.attention.layer_norm_rms_epsilon", KIND.f32, f32(MODEL_SHAPE.normEpsilon)),
    fact("llama.rope.freq_base", KIND.f32, f32(MODEL_SHAPE.ropeBase)),
    text("tokenizer.ggml.model", "gpt2"),
    text("tokenizer.ggml.pre", "llama-bpe"),
    list("tokenizer.ggml.tokens", KIND.string, tokens.map(string)),
    list(
      "tokenizer.ggml.token_type",
      KIND.i32,
      tokens.map((_, id) => u32(id < specialFrom ? TOKEN_NORMAL : TOKEN_CONTROL)),
    ),
    list("tokenizer.ggml.merges", KIND.string, merges.map(string)),
    whole("tokenizer.ggml.bos_token_id", idOf("<|begin_of_text|>")),
    whole("tokenizer.ggml.eos_token_id", idOf("<|eot_id|>")),
    text("tokenizer.chat_template", chatTemplate),
  ];
}

function padding(length: number): Buffer {
  return Buffer.alloc((ALIGNMENT - (length % ALIGNMENT)) % ALIGNMENT);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function f32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}

function string(text: string): Buffer {
  const bytes = Buffer.from(text, "utf8");
  return Buffer.concat([u64(bytes.length), bytes]);
}
