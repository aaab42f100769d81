/** Time, and what a heap of times comes to. */

/** Microseconds of the clock that all processes of the machine share. */
export const nowUs = (): number => Number(process.hrtime.bigint() / 1000n);

/** In milliseconds. */
export interface Summary {
  count: number;
  p50: number;
  p95: number;
  p99: number;
  max: number;
}

/** Undefined where nothing was measured. */
export function summary(timesUs: readonly number[]): Summary | undefined {
  if (timesUs.length === 0) return undefined;
  const sorted = Float64Array.from(timesUs).sort();
  const at = (share: number): number =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number) / 1000;
  return { count: sorted.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}
