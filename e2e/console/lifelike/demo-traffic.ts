/**
 * Sends requests like those of real products: several keys, models and lengths; most succeed, some fail. Every run
 * sends the same requests.
 */

import type { Platform } from "@tollgate/stage/dev-platform.ts";
import { readText } from "@tollgate/stage/raw-http.ts";
import type { DemoAccounts } from "./demo-accounts.ts";

const AT_ONCE = 30;
/** The number of pieces of an answer that a client reads before it disconnects. */
const PIECES_READ = 20;
const EMBEDDING = "embed-m3";
/** A key that is limited to some models, and requests only these. */
export const LIMITED_KEY = { key: "nightly summaries", models: ["small-8b", "tiny-3b"] };
/** Each key's share of the requests in percent. The last key also gets the remainder. */
const KEY_SHARES: [string, number][] = [
  ["production", 56],
  ["staging", 20],
  [LIMITED_KEY.key, 14],
  ["evaluation", 10],
];
const MODEL_SHARES: [string, number][] = [
  ["small-8b", 44],
  ["tiny-3b", 20],
  ["reason-32b", 16],
  ["small-7b-alt", 9],
  ["embed-m3", 7],
  ["mid-14b", 4],
];
const CLIENT_SHARES: [string, number][] = [
  ["OpenAI/Python 1.109.1", 60],
  ["OpenAI/JS 5.12.0", 32],
  ["curl/8.5.0", 8],
];
/** The pause between two tokens: larger models are slower. */
const PACE_MS: Record<string, number> = {
  "tiny-3b": 5,
  "small-8b": 9,
  "small-7b-alt": 9,
  "mid-14b": 14,
  "reason-32b": 20,
};
const WORDS = "the of ledger and a note request that in meeting is was for page on summary as with house by".split(" ");

interface Order {
  key: string;
  model: string;
  client: string;
  promptWords: number;
  /** Instructions for the scripted engine. */
  script: object;
  stream: boolean;
  /** The client disconnects in the middle of the answer. */
  leaves: boolean;
}

/** Returns a generator of pseudo-random numbers from 0 to 1, the same for the same seed. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function pick(shares: [string, number][], chance: number): string {
  let left = chance * 100;
  for (const [name, share] of shares) {
    left -= share;
    if (left < 0) return name;
  }
  return (shares.at(-1) as [string, number])[0];
}

function orderOf(next: () => number): Order {
  const model = pick(MODEL_SHARES, next());
  const tokens = Math.round(40 + next() * next() * 700);
  const fate = next();
  const thinks = model === "reason-32b" && { reasoning: words(60 + Math.round(next() * 120)) };
  const fault = {
    ...(fate < 0.02 && { fail_after: Math.round(tokens / 3) }),
    ...(fate >= 0.02 && fate < 0.03 && { stall_after: Math.round(tokens / 2) }),
  };
  const key = pick(KEY_SHARES, next());
  const leaves = fate >= 0.03 && fate < 0.055 && model !== EMBEDDING;
  return {
    key: key === LIMITED_KEY.key && !LIMITED_KEY.models.includes(model) ? "production" : key,
    model,
    client: pick(CLIENT_SHARES, next()),
    promptWords: Math.round(150 + next() * next() * 6_000),
    script: { tokens, ttft_ms: Math.round(60 + next() * 200), delta_ms: PACE_MS[model] ?? 0, ...thinks, ...fault },
    stream: leaves || fate > 0.4,
    leaves,
  };
}

const words = (count: number): string =>
  Array.from({ length: count }, (_, i) => WORDS[(i * 7) % WORDS.length]).join(" ");

/** Sends the builder's requests, and one of another builder with every tenth. Resolves when all have ended. */
export async function sendTraffic(
  platform: Platform,
  cast: DemoAccounts,
  { count, seed }: { count: number; seed: number },
): Promise<void> {
  const next = createRandom(seed);
  const orders = Array.from({ length: count }, () => orderOf(next));
  const waiting = orders.flatMap((order, i) => {
    const own = { order, key: cast.keys.get(order.key) as string };
    const other = cast.otherKeys[(i / 10) % cast.otherKeys.length];
    return i % 10 === 0 && other !== undefined ? [own, { order, key: other }] : [own];
  });
  const worker = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift())
      await sendOne(platform, one.order, one.key);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function sendOne(platform: Platform, order: Order, key: string): Promise<void> {
  const { model, client, promptWords, script, stream, leaves } = order;
  const isEmbedding = model === EMBEDDING;
  const body = isEmbedding
    ? { model, input: words(promptWords) }
    : {
        model,
        stream,
        max_tokens: 1_200,
        messages: [
          { role: "system", content: words(promptWords) },
          { role: "user", content: `#script ${JSON.stringify(script)}` },
        ],
      };
  const response = await fetch(`${platform.ready.gateway_url}/v1/${isEmbedding ? "embeddings" : "chat/completions"}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "user-agent": client },
    body: JSON.stringify(body),
  });
  if (!leaves) return void (await readText(response));
  const reader = response.body?.getReader();
  for (let pieces = 0; pieces < PIECES_READ && (await reader?.read())?.done === false; pieces++);
  await reader?.cancel();
}
