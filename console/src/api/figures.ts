/** Reads of figures for pages: models as they stand now, and earnings by the day or hour. Their shapes are written here. */
import type { Client } from "openapi-fetch";
import { api } from "./client.ts";
import type { Rate } from "./types.ts";

export interface LiveModel {
  id: string;
  kind: "generation" | "embedding";
  class: Rate["class"];
  quant_label: string | null;
  context_limit: number | null;
  price_in_micro_1m: number | null;
  price_out_micro_1m: number | null;
  status: "active" | "coming";
  /** Thinks apart from its answer; the thinking is billed as output. */
  reasoning: boolean;
  /** Medians over the nodes that serve it now; null before any was measured. */
  ttft_p50_ms: number | null;
  tps_p50: number | null;
  nodes: number;
  slots: number;
  busy: number;
}

export interface EarningSum {
  /** One of these two, as `by` says; in UTC. */
  day?: string;
  hour?: string;
  /** One of these two, as `split` says. */
  node?: string;
  model?: string;
  requests: number;
  prompt_tokens: number;
  completion_tokens: number;
  earned_micro: string;
}

export interface EarningSumsQuery {
  by: "day" | "hour";
  split: "node" | "model";
  from: string;
  node?: string;
}

interface Reads<Body, Query = never> {
  get: {
    parameters: { query?: Query };
    responses: { 200: { headers: Record<string, string>; content: { "application/json": Body } } };
  };
}

interface FigurePaths {
  "/console/api/models": Reads<{ data: LiveModel[] }>;
  "/console/api/earnings/sums": Reads<{ data: EarningSum[] }, EarningSumsQuery>;
}

/** The same client, with the account that the page acts for. */
export const figures = api as unknown as Client<FigurePaths>;
