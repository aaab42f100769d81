/**
 * Caches the token counts of short pieces in a fixed amount of memory. A new entry overwrites the previous entry of its
 * slot.
 */
const UNITS_MAX = 24;
const BITS = 15;

export class PieceCache {
  readonly #hashes = new Int32Array(1 << BITS);
  /** The length of the piece in each slot. 0: the slot is empty. */
  readonly #lengths = new Uint8Array(1 << BITS);
  readonly #counts = new Uint8Array(1 << BITS);
  readonly #units = new Uint16Array(UNITS_MAX << BITS);

  /** Returns the cached count of `units[from..to)`, or undefined. */
  get(hash: number, units: Uint16Array, from: number, to: number): number | undefined {
    const slot = hash >>> (32 - BITS);
    if (this.#hashes[slot] !== hash || this.#lengths[slot] !== to - from) return undefined;
    return startsWithUnits(this.#units, slot * UNITS_MAX, units, from, to) ? this.#counts[slot] : undefined;
  }

  set(hash: number, units: Uint16Array, from: number, to: number, count: number): void {
    if (to - from > UNITS_MAX) return;
    const slot = hash >>> (32 - BITS);
    this.#hashes[slot] = hash;
    this.#lengths[slot] = to - from;
    this.#counts[slot] = count;
    for (let i = from, at = slot * UNITS_MAX; i < to; i++, at++) this.#units[at] = units[i] as number;
  }
}

/** Whether `left`, from `at` on, starts with `units[from..to)`. */
export function startsWithUnits(left: Uint16Array, at: number, units: Uint16Array, from: number, to: number): boolean {
  for (let i = from, j = at; i < to; i++, j++) if (left[j] !== units[i]) return false;
  return true;
}

/** Hashes `units[from..to)`. Needs no secret key, because colliding words cost only a few more comparisons. */
export function hashUnits(units: Uint16Array, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ (units[i] as number), 0x01000193);
  return Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
}
