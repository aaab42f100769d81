/**
 * A request's seed, any whole number within ±2^53, as one that every engine takes: 31 bits, so that none reads it as
 * negative, and none as the value that llama.cpp means "random" by. Small seeds stay what they are.
 */
export function engineSeed(seed: number): number {
  const wide = BigInt.asUintN(64, BigInt(seed));
  return Number(BigInt.asUintN(31, wide ^ (wide >> 31n) ^ (wide >> 62n)));
}
