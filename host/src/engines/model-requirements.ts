/**
 * The memory that a catalogue model needs: the weights as usually quantised, and one context of the catalogue's length. An estimate; the
 * engine decides.
 */

const GB = 1_000_000_000;

interface Needs {
  /** The model's context limit in the catalogue. */
  contextTokens: number;
  /** Weights: Q4_K_M for the 4-bit builds, fp16 for the embedding model. */
  weightBytes: number;
  /** Keys and values of one token at 16 bits: 2 × layers × key-value heads × head width × 2 bytes. */
  tokenBytes: number;
}

const NEEDS: Readonly<Record<string, Needs>> = {
  // Llama 3.2 3B: 28 layers, 8 heads of 128.
  "tiny-3b": { contextTokens: 8_192, weightBytes: 2.1 * GB, tokenBytes: 114_688 },
  // Llama 3.1 8B: 32 layers, 8 heads of 128.
  "small-8b": { contextTokens: 16_384, weightBytes: 5 * GB, tokenBytes: 131_072 },
  // Qwen2.5 7B: 28 layers, 4 heads of 128.
  "small-7b-alt": { contextTokens: 32_768, weightBytes: 4.7 * GB, tokenBytes: 57_344 },
  // Qwen2.5 14B: 48 layers, 8 heads of 128.
  "mid-14b": { contextTokens: 32_768, weightBytes: 9 * GB, tokenBytes: 196_608 },
  // QwQ 32B: 64 layers, 8 heads of 128.
  "reason-32b": { contextTokens: 32_768, weightBytes: 19.9 * GB, tokenBytes: 262_144 },
  // BGE-M3: reads each text at once, without a cache.
  "embed-m3": { contextTokens: 8_192, weightBytes: 1.2 * GB, tokenBytes: 0 },
};

/** Additional memory of engines: buffers and the program itself. */
const WORKING_BYTES = 1 * GB;

/** The model's context in the catalogue; undefined for an unknown model. */
export function contextTokensOf(model: string): number | undefined {
  return NEEDS[model]?.contextTokens;
}

/** The bytes needed for `slots` concurrent requests; undefined for an unknown model. */
export function bytesNeeded(model: string, slots = 1): number | undefined {
  const needs = NEEDS[model];
  if (needs === undefined) return undefined;
  return needs.weightBytes + slots * needs.contextTokens * needs.tokenBytes + WORKING_BYTES;
}

/** Whether one request at a time fits. False for an unknown model. */
export function fitsMemory(model: string, memoryBytes: number): boolean {
  const bytes = bytesNeeded(model);
  return bytes !== undefined && bytes <= memoryBytes;
}
