/** A made-up account's life: keys, a month of requests, the sums over them. The same for the same seed. */
import type { ApiKey, RequestOutcome, RequestRecord } from "../src/api/types.ts";
import { formatMicro } from "../src/money.ts";

const DAY_S = 86_400;

/** Prices in microdollars per million tokens, which is picodollars per token. */
const MODELS = [
  { id: "tiny-3b", in: 20_000n, out: 40_000n, context: 8_192 },
  { id: "small-8b", in: 30_000n, out: 70_000n, context: 16_384 },
  { id: "mid-14b", in: 60_000n, out: 150_000n, context: 32_768 },
  { id: "reason-32b", in: 100_000n, out: 300_000n, context: 32_768 },
];
const OUTCOMES: [RequestOutcome, number][] = [
  ["ok", 0.94],
  ["client_closed", 0.02],
  ["upstream_stall", 0.01],
  ["upstream_failed", 0.01],
  ["no_capacity", 0.01],
  ["rate_limit_requests", 0.01],
];
const STATUS: Partial<Record<RequestOutcome, number>> = {
  ok: 200,
  client_closed: 499,
  no_capacity: 503,
  rate_limit_requests: 429,
};

/** Numbers from 0 to 1 that only look random (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export const suffix = (n: number): string => n.toString(32).padStart(26, "0");

export function madeUpKeys(nowS: number): ApiKey[] {
  const names = ["production", "staging", "nightly evaluation of the support assistant", "laptop", "old prototype"];
  return names.map((name, i) => ({
    id: `key_${suffix(i + 1)}`,
    object: "api_key",
    name,
    start: `tsk_live_${"Ab3dE5gH7jK9".slice(i)}${"xyzwv".slice(0, i)}`,
    limits: { requests_per_minute: i === 0 ? 3000 : 600, tokens_per_minute: 2_000_000, in_flight: 64 },
    spend_this_month: { requests: 0, charge_micro: "0.000000" },
    created_at: nowS - (40 - i * 3) * DAY_S,
    last_used_at: i === 3 ? null : nowS - i * i * 5_000 - 40,
    revoked_at: i === 4 ? nowS - 9 * DAY_S : null,
  }));
}

export function madeUpRequests(keys: ApiKey[], count: number, nowS: number): RequestRecord[] {
  const random = seeded(7);
  const requests = Array.from({ length: count }, (_, i) => {
    const created = Math.floor(nowS - 30 - (i / count) ** 1.6 * 30 * DAY_S);
    return madeUpRequest({ n: count - i, created, keys, random });
  });
  for (const { key, charge_micro } of requests) {
    const owner = keys.find(({ id }) => id === key.id);
    if (owner === undefined) continue;
    const { spend_this_month: spend } = owner;
    spend.requests += 1;
    spend.charge_micro = formatMicro(pico(spend.charge_micro) + pico(charge_micro));
  }
  return requests;
}

const pico = (micro: string): bigint => BigInt(micro.replace(".", ""));

interface Parts {
  n: number;
  created: number;
  keys: ApiKey[];
  random: () => number;
  outcome?: RequestOutcome;
}

export function madeUpRequest({ n, created, keys, random, outcome = pickOutcome(random()) }: Parts): RequestRecord {
  const model = MODELS[Math.floor(random() ** 1.7 * MODELS.length)] ?? MODELS[0];
  const key = keys[Math.floor(random() ** 2 * 3)] ?? keys[0];
  if (model === undefined || key === undefined) throw new Error("there are no keys or models");
  const ran = !outcome.startsWith("rate_limit") && outcome !== "no_capacity";
  const prompt = 20 + Math.floor(random() ** 2 * 3000);
  const completion = ran ? 5 + Math.floor(random() * 900) : 0;
  const reasoning = model.id === "reason-32b" ? Math.floor(completion * 0.6) : 0;
  const hold = ran ? BigInt(prompt) * model.in + BigInt(model.context) * model.out : 0n;
  const charge = ran ? BigInt(prompt) * model.in + BigInt(completion) * model.out : 0n;
  const queue = Math.floor(random() ** 3 * 400);
  const first = queue + 60 + Math.floor(random() * 500);
  const duration = first + completion * 18;
  return {
    id: `req_${suffix(n)}`,
    object: "request",
    created_at: created,
    finished_at: created + Math.ceil(duration / 1000),
    key: { id: key.id, name: key.name },
    endpoint: "chat",
    model: outcome === "rate_limit_requests" ? null : model.id,
    build: ran ? `${model.id}-q4` : null,
    tokenizer: ran ? "llama3" : null,
    stream: random() > 0.4,
    outcome,
    http_status: STATUS[outcome] ?? 502,
    finish_reason: outcome === "ok" ? (random() > 0.1 ? "stop" : "length") : null,
    usage: { prompt_tokens: ran ? prompt : 0, completion_tokens: completion, reasoning_tokens: reasoning },
    hold_micro: formatMicro(hold),
    charge_micro: formatMicro(charge),
    refund_micro: formatMicro(hold - charge),
    price_version: ran ? 3 : null,
    attempts: ran ? 1 : 0,
    queue_ms: ran ? queue : null,
    ttft_ms: ran ? first : null,
    duration_ms: ran ? duration : 3,
    client: "openai-python",
  };
}

function pickOutcome(at: number): RequestOutcome {
  let sum = 0;
  for (const [outcome, share] of OUTCOMES) {
    sum += share;
    if (at < sum) return outcome;
  }
  return "ok";
}

export const MADE_UP_RATES = [
  ...MODELS.map(({ id, context, ...price }) => ({
    sku_id: id,
    class: id.split("-")[0] === "reason" ? "reasoning" : id.split("-")[0],
    quant_label: "4-bit",
    context_limit: context,
    price_in_micro_1m: Number(price.in),
    price_out_micro_1m: Number(price.out),
    status: "active",
    reasoning: { separate: id === "reason-32b", billed_as: null, field: null },
  })),
  {
    sku_id: "large-70b",
    class: "large",
    quant_label: null,
    context_limit: null,
    price_in_micro_1m: null,
    price_out_micro_1m: null,
    status: "coming",
    reasoning: { separate: false, billed_as: null, field: null },
  },
];
