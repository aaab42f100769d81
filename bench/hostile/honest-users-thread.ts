/**
 * Sends the honest users' requests from a thread of their own, so that attackers in the main thread do not slow them
 * down. Sends a request every few milliseconds, alternately streamed and not, without waiting for earlier answers.
 * Started by run.ts.
 */

import { parentPort, workerData } from "node:worker_threads";
import { readText } from "@tollgate/stage/raw-http.ts";

export interface UserOptions {
  baseUrl: string;
  key: string;
  model: string;
  everyMs: number;
}

export interface UserFigures {
  p50Ms: number;
  p99Ms: number;
  answered: number;
  /** The number of wrong or failed answers. */
  wrong: number;
}

const ANSWER = "calm words";
const OUTSTANDING_MAX = 400;
const { baseUrl, key, model, everyMs } = workerData as UserOptions;
let [sent, outstanding, wrong] = [0, 0, 0];
let tookMs: number[] = [];

async function use(stream: boolean): Promise<void> {
  const messages = [{ role: "user", content: `#script ${JSON.stringify({ text: ANSWER })}` }];
  const from = performance.now();
  const response = await fetch(`${baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, stream, max_tokens: 20, messages }),
  });
  const text = await readText(response);
  tookMs.push(performance.now() - from);
  if (response.status !== 200 || !text.includes(stream ? "data: [DONE]" : ANSWER)) wrong += 1;
}

setInterval(() => {
  if (outstanding >= OUTSTANDING_MAX) return;
  outstanding += 1;
  use(sent++ % 2 === 0)
    .catch(() => {
      wrong += 1;
    })
    .finally(() => {
      outstanding -= 1;
    });
}, everyMs);

// Answers each message with the figures since the previous message.
parentPort?.on("message", () => {
  const sorted = tookMs.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  const figures: UserFigures = { p50Ms: at(0.5), p99Ms: at(0.99), answered: sorted.length, wrong };
  [tookMs, wrong] = [[], 0];
  parentPort?.postMessage(figures);
});
