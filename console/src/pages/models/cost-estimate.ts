/** Computes the exact cost of a workload on a model: tokens times prices. */
import { computeTokenCost } from "../../dollar-amounts.ts";

export const DAYS_A_MONTH = 30;

interface Prices {
  price_in_micro_1m: number | null;
  /** Null for embeddings, which have no output. */
  price_out_micro_1m: number | null;
}

export interface Workload {
  requestsPerDay: number;
  promptTokens: number;
  outputTokens: number;
}

export interface CostEstimate {
  request: bigint;
  day: bigint;
  month: bigint;
}

/** Returns undefined for a model without a price. */
export function estimateCost(
  { price_in_micro_1m, price_out_micro_1m }: Prices,
  work: Workload,
): CostEstimate | undefined {
  if (price_in_micro_1m === null) return undefined;
  const request =
    computeTokenCost(work.promptTokens, price_in_micro_1m) +
    computeTokenCost(work.outputTokens, price_out_micro_1m ?? 0);
  const day = request * BigInt(work.requestsPerDay);
  return { request, day, month: day * BigInt(DAYS_A_MONTH) };
}
