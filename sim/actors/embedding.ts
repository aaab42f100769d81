/** The vector that an honest engine returns for a text to embed. */
import { VECTOR_WIDTH } from "./catalogue.ts";

/**
 * Returns the vector of a text. Texts that share words get similar vectors. The numbers are whole, so that sums are
 * exact.
 */
export function computeEmbedding(text: string): Float32Array {
  const sum = new Float32Array(VECTOR_WIDTH);
  for (const word of text.toLowerCase().match(/\w+/g) ?? ["nothing"]) {
    let bits = 0x811c9dc5;
    for (let i = 0; i < word.length; i++) bits = Math.imul(bits ^ word.charCodeAt(i), 0x01000193);
    for (let i = 0; i < VECTOR_WIDTH; i++) {
      bits = Math.imul(bits ^ (bits >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
      sum[i] = (sum[i] as number) + ((bits >>> 16) & 1 ? 1 : -1);
    }
  }
  return sum;
}
