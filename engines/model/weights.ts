/**
 * Generates a Llama model with fixed random weights, small enough that two processor cores generate hundreds of tokens
 * a second.
 */
import type { Likelihood } from "./token-likelihoods.ts";

export const MODEL_SHAPE = {
  layers: 2,
  width: 64,
  heads: 2,
  keyValueHeads: 1,
  /** The smallest width of an attention head that engines with their own kernels support. */
  headWidth: 32,
  inner: 128,
  contextTokens: 8192,
  normEpsilon: 1e-5,
  ropeBase: 500_000,
};

export interface Tensor {
  /** The tensor's name in published models. */
  name: string;
  /** The dimensions of the tensor: rows, then columns. */
  shape: number[];
  values: Float32Array;
}

const SEED = 20_260_913;
/** The first channel has this value for every token. Through it, the last layer adds each token's own score. */
const CONSTANT = 4;
const SPREAD = 1.5;
const FOLLOWS = 60;
/** The size of a layer's contribution, relative to a token's embedding. */
const LAYER = 0.4;

export function makeWeights({ scores, moved, smileyStart, smileyEnds }: Likelihood): Tensor[] {
  const gaussian = gaussians(SEED);
  const { width, heads, keyValueHeads, headWidth, inner, layers } = MODEL_SHAPE;
  const vocabulary = scores.length;
  const random = (rows: number, columns: number, spread: number): Float32Array =>
    Float32Array.from({ length: rows * columns }, () => gaussian() * spread);

  const embedding = random(vocabulary, width, 1);
  for (let id = 0; id < vocabulary; id++) embedding[id * width] = CONSTANT;

  // The factor by which the last norm scales a token's embedding.
  const scale = Math.sqrt(width / (CONSTANT ** 2 + width - 1));
  const head = random(vocabulary, width, SPREAD / (scale * Math.sqrt(width - 1)));
  for (let id = 0; id < vocabulary; id++) {
    if (!moved.has(id)) head.fill(0, id * width, (id + 1) * width);
    head[id * width] = (scores[id] as number) / (CONSTANT * scale);
  }
  const start = embedding.subarray(smileyStart * width + 1, (smileyStart + 1) * width);
  const length = start.reduce((sum, value) => sum + value ** 2, 0);
  for (const id of smileyEnds)
    for (let i = 1; i < width; i++) {
      const at = id * width + i;
      head[at] = (head[at] as number) + ((start[i - 1] as number) * FOLLOWS) / (length * scale);
    }

  const tensors: Tensor[] = [{ name: "model.embed_tokens.weight", shape: [vocabulary, width], values: embedding }];
  for (let layer = 0; layer < layers; layer++) {
    const add = (name: string, rows: number, columns: number, values: Float32Array): void =>
      void tensors.push({
        name: `model.layers.${layer}.${name}.weight`,
        shape: columns === 0 ? [rows] : [rows, columns],
        values,
      });
    const matrix = (name: string, rows: number, columns: number): void =>
      add(name, rows, columns, random(rows, columns, 1 / Math.sqrt(columns)));
    /**
     * Adds a matrix whose result is added to the token's vector. Its first row is zero, so that the first channel keeps
     * the value `CONSTANT`.
     */
    const into = (name: string, columns: number): void => {
      const values = random(width, columns, LAYER / Math.sqrt(columns));
      add(name, width, columns, values.fill(0, 0, columns));
    };
    add("input_layernorm", width, 0, new Float32Array(width).fill(1));
    matrix("self_attn.q_proj", heads * headWidth, width);
    matrix("self_attn.k_proj", keyValueHeads * headWidth, width);
    matrix("self_attn.v_proj", keyValueHeads * headWidth, width);
    into("self_attn.o_proj", heads * headWidth);
    add("post_attention_layernorm", width, 0, new Float32Array(width).fill(1));
    matrix("mlp.gate_proj", inner, width);
    matrix("mlp.up_proj", inner, width);
    into("mlp.down_proj", inner);
  }
  tensors.push({ name: "model.norm.weight", shape: [width], values: new Float32Array(width).fill(1) });
  tensors.push({ name: "lm_head.weight", shape: [vocabulary, width], values: head });
  return tensors;
}

/** Returns a generator of normally distributed numbers (mulberry32 and the Box-Muller transform). */
function gaussians(seed: number): () => number {
  let state = seed;
  const uniform = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (((mixed ^ (mixed >>> 14)) >>> 0) + 0.5) / 4_294_967_296;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}
