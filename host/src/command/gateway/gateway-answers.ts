/**
 * Validates the gateway's answers, because the gateway may be older or newer than this agent. The types come from the
 * API. Fields that could break the agent are checked, others may be missing, and unknown fields are kept.
 */
import type { Schema } from "@tollgate/api/client-types.ts";
import { z } from "zod";

type Checks<Declared> = { [Name in keyof Declared]?: z.ZodType };
type SureOf<Checked> = {
  [Name in keyof Checked]: Checked[Name] extends z.ZodType
    ? undefined extends z.output<Checked[Name]>
      ? never
      : Name
    : never;
}[keyof Checked];
/** The API's type of an answer, in which only the checked fields are required. */
type Heard<Declared, Checked> = Pick<Declared, SureOf<Checked> & keyof Declared> & {
  [Name in Exclude<keyof Declared, SureOf<Checked>>]?: Declared[Name] | null | undefined;
};

const heard =
  <Declared>() =>
  <const Checked extends Checks<Declared>>(checks: Checked & Record<Exclude<keyof Checked, keyof Declared>, never>) =>
    z.looseObject(checks as z.ZodRawShape) as unknown as z.ZodType<Heard<Declared, Checked>>;

/** Applies one check to several fields of an object. */
const each = <Check extends z.ZodType, Name extends string>(check: Check, ...names: Name[]) =>
  Object.fromEntries(names.map((name) => [name, check])) as Record<Name, Check>;

const NodeId = z.string().regex(/^node_[0-9A-Za-z]{1,64}$/);
const Text = z.string();
const Count = z.number().nonnegative();
const Speed = z.number().nullable();
/** An amount in microdollars as a decimal number. Gateways send six decimals: `"123.450000"`. */
const Micro = z.string().regex(/^-?\d+(\.\d+)?$/);

const Quarantine = heard<Schema<"Quarantine">>()({ reason: Text, at: z.number().nullish() });
const standing = {
  quarantine: Quarantine.nullish(),
  probation: z.looseObject(each(Count, "answers", "needed")).nullish(),
  withheld: Text.nullish(),
};

export const Node = heard<Schema<"Node">>()({
  id: NodeId,
  name: Text,
  state: Text.default("unknown"),
  models: z.array(Text).default([]),
  hardware: z.record(Text, z.unknown()).nullish(),
  ...standing,
});

export const CatalogueModel = heard<Schema<"NodeModel">>()({
  model: Text,
  kind: z.enum(["generation", "embedding"]),
  ...each(Count.nullable(), "price_in_micro_1m", "price_out_micro_1m"),
});

export const NodeStatsAnswer = heard<Schema<"NodeStats">>()({
  state: Text,
  connected: z.boolean(),
  models: z.array(z.looseObject({ model: Text, ...each(Speed, "ttft_p50_ms", "tps_p50") })),
  today: z.looseObject({ ...each(Count, "requests", "prompt_tokens", "completion_tokens"), earned_micro: Micro }),
  reliability: z.looseObject(each(Count, "jobs", "failures", "jobs_window", "failures_max")).nullish(),
  last_day: z.looseObject(each(Count, "answers", "failures", "silences", "refusals", "late_acceptances")).nullish(),
  agent_outdated: z.boolean().nullish(),
  ...each(Count.nullish(), "slots", "busy", "engine_slots"),
  ...standing,
});

const Earning = heard<Schema<"Earning">>()({
  ...each(Text, "request_id", "outcome"),
  ...each(Text.nullable(), "node", "model"),
  ...each(Count, "finished_at", "prompt_tokens", "completion_tokens"),
  earned_micro: Micro,
});
const Balance = heard<Schema<"EarningList">["balance"]>()({
  ...each(Micro, "earned_micro", "paid_out_micro", "pending_micro"),
  ...each(Micro.nullish(), "own_micro", "set_off_micro", "held_back_micro", "withheld_micro"),
});
export const EarningsPage = z.object({
  balance: Balance,
  today_micro: Micro,
  data: z.array(Earning),
  next_cursor: Text.nullish(),
});

const WithheldShare = heard<Schema<"WithheldShare">>()({
  ...each(Text, "request_id", "node", "explanation"),
  withheld_at: Count,
  amount_micro: Micro,
  ...each(Count.nullish(), "released_at"),
});
export const WithheldPage = z.object({ data: z.array(WithheldShare), next_cursor: Text.nullish() });
export type WithheldShare = z.infer<typeof WithheldShare>;

const Share = z.number().nullable();
const figures = {
  ...each(Count, "requests", "failed", "prompt_tokens", "completion_tokens"),
  ...each(Share, "failed_share", "utilisation", "connected"),
  ...each(Speed, "ttft_p50_ms", "ttft_p95_ms", "tps"),
  earned_micro: Micro,
};
const insight = {
  range: Text,
  total: z.looseObject(figures),
  earnings_slot_s: Count,
  earnings: z.array(z.looseObject({ at: Count, earned_micro: Micro })),
};
export const NodeActivity = heard<Schema<"NodeInsight">>()(insight);
export const HostActivity = heard<Schema<"HostInsight">>()({
  ...insight,
  nodes: z.array(z.looseObject({ node: NodeId, total: z.looseObject(figures) })),
});

const Job = heard<Schema<"Job">>()({
  ...each(Text, "request_id", "outcome", "says"),
  model: Text.nullable(),
  ...each(Count, "finished_at", "prompt_tokens", "completion_tokens"),
  ...each(Speed, "ttft_ms", "duration_ms", "tps"),
  earned_micro: Micro,
});
export const JobsPage = z.object({ data: z.array(Job), next_cursor: Text.nullish() });

const MarketModel = heard<Schema<"MarketModel">>()({
  model: Text,
  ...each(Count, "tokens_per_hour_24h", "tokens_per_hour_7d", "waiting", "slots", "busy"),
  elected: z.boolean(),
  speed: z.looseObject({ of: Text, ...each(Count, "prompt_tokens_per_s", "completion_tokens_per_s") }).nullable(),
  ...each(Micro.nullable(), "slot_hour_micro", "node_hour_micro", "mean_hour_micro"),
});
export const Market = z.looseObject({ data: z.array(MarketModel), share_percent: Count, slots: Count.nullable() });

export const NodeTrialResult = heard<Schema<"NodeTry">>()({
  model: Text,
  ...each(Text.nullish(), "text", "vendor_reasoning_content", "finish_reason"),
  vectors: z.looseObject(each(Count, "count", "width")).nullish(),
  ...each(Count, "prompt_tokens", "completion_tokens"),
  ...each(Speed, "ttft_ms", "tps"),
});

export const Credentials = heard<Schema<"NodeCredentials">>()({
  ...each(Text.min(1), "plane_url", "jwt", "seed"),
  expires_at: z.number().positive(),
});

export type Node = z.output<typeof Node>;
export type Quarantine = z.output<typeof Quarantine>;
export type Probation = Schema<"Probation">;
export type CatalogueModel = z.output<typeof CatalogueModel>;
export type NodeStatsAnswer = z.output<typeof NodeStatsAnswer>;
export type Earning = z.output<typeof Earning>;
export type EarningsPage = z.output<typeof EarningsPage>;
export type NodeActivity = z.output<typeof NodeActivity>;
export type HostActivity = z.output<typeof HostActivity>;
export type ActivityTotal = NodeActivity["total"];
export type Job = z.output<typeof Job>;
export type JobsPage = z.output<typeof JobsPage>;
export type Market = z.output<typeof Market>;
export type NodeTrialResult = z.output<typeof NodeTrialResult>;
