/**
 * Samples of the platform's load in the last minutes, kept while the page is open. The stream sends only changes, so
 * the latest value is sampled at a fixed interval.
 */
import type { PlatformLoad } from "../../../api/answer-types.ts";

export const LOAD_SAMPLE_INTERVAL_MS = 2_000;
const SAMPLES_MAX = 90;

export interface LoadSample {
  atMs: number;
  inFlight: number;
}

export function addSample(samples: LoadSample[], load: PlatformLoad, atMs: number): LoadSample[] {
  return [...samples, { atMs, inFlight: load.in_flight }].slice(-SAMPLES_MAX);
}
