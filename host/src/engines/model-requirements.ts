/**
 * Estimates the memory that a catalogue model needs: the weights with the usual quantization, and one context of the
 * catalogue's length per slot. The engine's real need may differ.
 */

const GB = 1_000_000_000;

interface Needs {
  /** The model's context limit in the catalogue. */
  contextTokens: number;
  /** The size of the weights: Q4_K_M quantization for the 4-bit builds, fp16 for the embedding model. */
  weightBytes: number;
  /** The cache size per token, with 16-bit keys and values: 2 × layers × key-value heads × head width × 2 bytes. */
  tokenBytes: number;
}

const NEEDS: Readonly<Record<string, Needs>> = {
  // Llama 3.2 3B: 28 layers, 8 key-value heads of width 128.
  "tiny-3b": { contextTokens: 8_192, weightBytes: 2.1 * GB, tokenBytes: 114_688 },
  // Llama 3.1 8B: 32 layers, 8 key-value heads of width 128.
  "small-8b": { contextTokens: 16_384, weightBytes: 5 * GB, tokenBytes: 131_072 },
  // Qwen2.5 7B: 28 layers, 4 key-value heads of width 128.
  "small-7b-alt": { contextTokens: 32_768, weightBytes: 4.7 * GB, tokenBytes: 57_344 },
  // Qwen2.5 14B: 48 layers, 8 key-value heads of width 128.
  "mid-14b": { contextTokens: 32_768, weightBytes: 9 * GB, tokenBytes: 196_608 },
  // QwQ 32B: 64 layers, 8 key-value heads of width 128.
  "reason-32b": { contextTokens: 32_768, weightBytes: 19.9 * GB, tokenBytes: 262_144 },
  // BGE-M3: reads each text in one step, without a cache.
  "embed-m3": { contextTokens: 8_192, weightBytes: 1.2 * GB, tokenBytes: 0 },
};

/** The further memory that an engine needs: buffers and the program itself. */
const WORKING_BYTES = 1 * GB;

/** The model's context limit in the catalogue. Undefined for an unknown model. */
export function findContextTokens(model: string): number | undefined {
  return NEEDS[model]?.contextTokens;
}

/** The bytes needed for `slots` concurrent requests. Undefined for an unknown model. */
export function computeModelBytes(model: string, slots = 1): number | undefined {
  const needs = NEEDS[model];
  if (needs === undefined) return undefined;
  return needs.weightBytes + slots * needs.contextTokens * needs.tokenBytes + WORKING_BYTES;
}

/** Whether the model fits into this memory with one slot. False for an unknown model. */
export function modelFitsMemory(model: string, memoryBytes: number): boolean {
  const bytes = computeModelBytes(model);
  return bytes !== undefined && bytes <= memoryBytes;
}
