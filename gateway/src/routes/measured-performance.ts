/** A model's measured performance over a time span, rounded and without the number of requests. */
import type { PerformanceSum } from "../history/performance-reader.ts";
import type { CatalogueEntry } from "../metering/catalogue.ts";

interface Found {
  performance?: PerformanceSum | undefined;
  samples?: { samples: number; up: number } | undefined;
}

/** Below this number of requests, the share of failures is not shown, because it would reveal the number. */
export const ERROR_SHARE_REQUESTS_MIN = 20;

export function measuredPerformanceObject({ kind }: Pick<CatalogueEntry, "kind">, { performance, samples }: Found) {
  const { requests = 0, errorShare = null, ttft, tokensPerSecond = null } = performance ?? {};
  // An embedding is not streamed, so it has no first token.
  const firstToken = kind === "embedding" ? undefined : ttft;
  return {
    availability: computeAvailability(samples),
    failed_share:
      requests < ERROR_SHARE_REQUESTS_MIN || errorShare === null ? null : Math.round(errorShare * 1000) / 1000,
    ttft_p50_ms: firstToken?.p50 ?? null,
    ttft_p95_ms: firstToken?.p95 ?? null,
    tokens_per_second: tokensPerSecond === null ? null : Math.round(tokensPerSecond * 10) / 10,
  };
}

/** Rounded down to a hundred-thousandth, so that it is never rounded up to 1. */
export function computeAvailability(
  { samples, up }: { samples: number; up: number } = { samples: 0, up: 0 },
): number | null {
  return samples === 0 ? null : Math.floor((up / samples) * 1e5) / 1e5;
}

export const sumSamples = (sums: { samples: number; up: number }[]): { samples: number; up: number } => ({
  samples: sums.reduce((total, { samples }) => total + samples, 0),
  up: sums.reduce((total, { up }) => total + up, 0),
});
