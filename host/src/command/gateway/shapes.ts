/** What the gateway's node API answers. Fields we do not use are ignored, so that a newer gateway can add some. */
import { z } from "zod";

export const ErrorEnvelope = z.object({
  error: z.object({ message: z.string(), type: z.string(), code: z.string().nullish() }),
});

const NodeId = z.string().regex(/^node_[0-9A-Za-z]{1,64}$/);
/** Millionths of a dollar with six more digits: `"123.450000"`. */
const Micro = z.string().regex(/^-?\d+(\.\d+)?$/);
const Count = z.number().nonnegative();

export const Quarantine = z.object({
  reason: z.string(),
  /** Unix seconds. */
  at: z.number().nullish(),
  evidence: z.unknown(),
});

/** A new node gets one request at a time until it has answered so many well. */
export const Probation = z.object({ answers: z.number().nonnegative(), needed: z.number().nonnegative() });

export const Node = z.object({
  id: NodeId,
  name: z.string(),
  state: z.string().default("unknown"),
  models: z.array(z.string()).default([]),
  quarantine: Quarantine.nullish(),
  probation: Probation.nullish(),
  /** Why it gets no work although its own standing is good. */
  withheld: z.string().nullish(),
});
export const NodePage = z.object({ data: z.array(Node), next_cursor: z.string().nullish() });

export const CatalogueModel = z.object({
  model: z.string(),
  kind: z.enum(["generation", "embedding"]),
  class: z.string(),
  context_limit: z.number().nullable(),
  build: z.string().nullish(),
  tokenizer: z.string().nullish(),
  price_in_micro_1m: z.number().nullable(),
  price_out_micro_1m: z.number().nullable(),
});
export const CatalogueList = z.object({ data: z.array(CatalogueModel) });

export const Stats = z.object({
  node: NodeId,
  state: z.string(),
  connected: z.boolean(),
  slots: Count.nullish(),
  busy: Count.nullish(),
  draining: z.boolean().nullish(),
  models: z.array(z.object({ model: z.string(), ttft_p50_ms: z.number().nullable(), tps_p50: z.number().nullable() })),
  today: z.object({ requests: Count, prompt_tokens: Count, completion_tokens: Count, earned_micro: Micro }),
  reliability: z.object({ jobs: Count, failures: Count, jobs_window: Count, failures_max: Count }).nullish(),
  quarantine: Quarantine.nullish(),
  probation: Probation.nullish(),
  withheld: z.string().nullish(),
});

export const Earning = z.object({
  request_id: z.string(),
  node: z.string().nullable(),
  model: z.string().nullable(),
  /** Unix seconds. */
  finished_at: z.number(),
  prompt_tokens: Count,
  completion_tokens: Count,
  outcome: z.string(),
  earned_micro: Micro,
  /** Asked for by the host's own owner; a gateway that does not know says nothing. */
  own: z.boolean().nullish(),
});
export const EarningsPage = z.object({
  balance: z.object({
    earned_micro: Micro,
    own_micro: Micro.nullish(),
    paid_out_micro: Micro,
    set_off_micro: Micro.nullish(),
    pending_micro: Micro,
    held_back_micro: Micro.nullish(),
  }),
  today_micro: Micro,
  data: z.array(Earning),
  next_cursor: z.string().nullish(),
});

export const Trial = z.object({
  model: z.string(),
  text: z.string().nullish(),
  /** What a reasoning model thought before it answered. */
  vendor_reasoning_content: z.string().nullish(),
  vectors: z.object({ count: Count, width: Count }).nullish(),
  finish_reason: z.string().nullish(),
  prompt_tokens: Count,
  completion_tokens: Count,
  ttft_ms: z.number().nullable(),
  tps: z.number().nullable(),
});

export const Credentials = z.object({
  plane_url: z.string().min(1),
  jwt: z.string().min(1),
  seed: z.string().min(1),
  expires_at: z.number().positive(),
});

export type Node = z.infer<typeof Node>;
export type Quarantine = z.infer<typeof Quarantine>;
export type CatalogueModel = z.infer<typeof CatalogueModel>;
export type Probation = z.infer<typeof Probation>;
export type Stats = z.infer<typeof Stats>;
export type Earning = z.infer<typeof Earning>;
export type EarningsPage = z.infer<typeof EarningsPage>;
export type Trial = z.infer<typeof Trial>;
