/**
 * Converts a request's seed, a whole number within ±2^53, to 31 bits that every engine accepts. The result is never
 * negative, and never the value that means "random" in llama.cpp. Small seeds stay unchanged.
 */
export function toEngineSeed(seed: number): number {
  const wide = BigInt.asUintN(64, BigInt(seed));
  return Number(BigInt.asUintN(31, wide ^ (wide >> 31n) ^ (wide >> 62n)));
}
