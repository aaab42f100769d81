/** Example answers for the node API and the console API. A test checks each one against its schema. */
import { makeSampleId, SAMPLE_TIME, sampleList } from "../common-schemas.ts";

export const sampleListedNode = {
  id: makeSampleId("node"),
  object: "node",
  name: "workshop-1",
  state: "online",
  models: ["small-8b"],
  agent: "tollgate-host/0.1.0",
  quarantine: null,
  probation: null,
  withheld: null,
  created_at: SAMPLE_TIME,
};

export const sampleNode = { ...sampleListedNode, hardware: { gpu: "RTX 4090", memory_gib: 64 } };

export const sampleNodeStats = {
  object: "node_stats",
  node: makeSampleId("node"),
  state: "online",
  connected: true,
  slots: 4,
  busy: 1,
  engine_slots: null,
  draining: false,
  models: [{ model: "small-8b", ttft_p50_ms: 180.3, tps_p50: 41.5 }],
  today: { requests: 1, prompt_tokens: 14, completion_tokens: 9, earned_micro: "0.735000" },
  reliability: { jobs: 1, failures: 0, jobs_window: 20, failures_max: 5 },
  last_day: { answers: 1, failures: 0, silences: 0, refusals: 0, late_acceptances: 0 },
  agent_outdated: false,
  quarantine: null,
  probation: null,
  withheld: null,
};

export const sampleNodeModel = {
  model: "small-8b",
  kind: "generation",
  class: "small",
  context_limit: 16_384,
  build: "small-8b-q4-1",
  tokenizer: "llama3",
  price_in_micro_1m: 30_000,
  price_out_micro_1m: 70_000,
};

export const sampleReceipt = {
  object: "usage.receipt",
  version: 1,
  request_id: makeSampleId("req"),
  endpoint: "chat",
  model: "small-8b",
  build: "small-8b-q4-1",
  tokenizer: "llama3",
  outcome: "ok",
  finish_reason: "stop",
  prompt_tokens: 14,
  completion_tokens: 9,
  reasoning_tokens: 0,
  price_version: 1,
  hold_pico: "4900000",
  charge_pico: "1050000",
  host_share_pico: "735000",
  created_at: "2026-09-21T13:33:20.000Z",
  finished_at: "2026-09-21T13:33:21.240Z",
  key_id: "3f1c9a0b7d5e2846",
  signature: "mUPvXK0gqLUYd1kO1b6m…",
};

export const sampleEarning = {
  request_id: makeSampleId("req"),
  node: makeSampleId("node"),
  model: "small-8b",
  finished_at: SAMPLE_TIME,
  prompt_tokens: 14,
  completion_tokens: 9,
  outcome: "ok",
  earned_micro: "0.735000",
  own: false,
};

export const sampleWithheldEarnings = {
  request_id: makeSampleId("req"),
  node: makeSampleId("node"),
  model: "small-8b",
  outcome: "upstream_failed",
  withheld_at: SAMPLE_TIME,
  amount_micro: "0.490000",
  reason: "node_failed",
  explanation: "The node reported a failure.",
  taken_back: false,
  released_at: null,
  note: null,
};

export const sampleSpotCheck = {
  request_id: makeSampleId("req"),
  model: "small-8b",
  checked_at: SAMPLE_TIME,
  method: "text",
  score: -0.41,
  verdict: "ok",
  explanation: "The answer is consistent with this model.",
};

export const sampleEarnings = {
  ...sampleList(sampleEarning),
  balance: {
    earned_micro: "12.735000",
    own_micro: "0.000000",
    paid_out_micro: "12.000000",
    set_off_micro: "0.000000",
    pending_micro: "0.735000",
    held_back_micro: "0.735000",
    withheld_micro: "0.490000",
  },
  today_micro: "0.735000",
};
