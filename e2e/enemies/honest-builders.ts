/**
 * Four honest builders that send chats at a fixed rate, alternately streamed and plain, without waiting for earlier
 * answers. Both phases of a measurement send the same requests in the same order, so they differ only by the attacker.
 * The builders use the platform's clock, which stops while the machine is busy with other work.
 */

import { sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { readResponseParts } from "@tollgate/stage/raw-http.ts";
import type { BuilderAccount, InProcessStage } from "@tollgate/stage/stage.ts";
import { MODEL } from "./attack-strategy.ts";

const PER_SECOND = 12;
/** The maximum time that a builder waits for an answer of a hundred words. */
const PATIENCE_MS = 10_000;
const SUBJECTS = [
  "a harbour",
  "an old bridge",
  "the first snow",
  "a market",
  "two brothers",
  "a slow train",
  "the sea",
];

export interface LoadFigures {
  sent: number;
  errors: number;
  /** The number of requests by result, such as `ok` or an error code. */
  seen: Record<string, number>;
  /** The median time to the first token of a stream. A failed stream counts with the time until its failure. */
  ttftMs: number;
  /** `ttftMs` by the machine's clock: it grows if an attacker keeps the gateway's processor busy. */
  ttftRealMs: number;
}

export async function sendHonestLoad(
  stage: InProcessStage,
  builders: BuilderAccount[],
  seconds: number,
): Promise<LoadFigures> {
  const going: Promise<Seen>[] = [];
  await new Promise<void>((resolve) => {
    const stop = stage.clock.every(1000 / PER_SECOND, () => {
      going.push(sendOne(stage, builders, going.length));
      if (going.length < seconds * PER_SECOND) return;
      stop();
      resolve();
    });
  });
  const all = await Promise.all(going);
  const failed = all.filter(({ error }) => error !== undefined);
  const streams = all.filter(({ stream }) => stream);
  const seen = Object.fromEntries(
    [...Map.groupBy(failed, ({ error }) => error)].map(([what, of]) => [what, of.length]),
  );
  return {
    sent: all.length,
    errors: failed.length,
    seen,
    ttftMs: median(streams.map(({ firstMs }) => firstMs)),
    ttftRealMs: median(streams.map(({ firstRealMs }) => firstRealMs)),
  };
}

interface Seen {
  stream: boolean;
  firstMs: number;
  firstRealMs: number;
  error: string | undefined;
}

async function sendOne(stage: InProcessStage, builders: BuilderAccount[], i: number): Promise<Seen> {
  const { key } = builders[i % builders.length] as BuilderAccount;
  const stream = i % 2 === 0;
  const prompt = `Tell me story number ${i} about ${SUBJECTS[i % SUBJECTS.length]} in a few plain sentences.`;
  const [begun, begunReal] = [stage.clock.monotonic(), performance.now()];
  const elapsed = () => ({ firstMs: stage.clock.monotonic() - begun, firstRealMs: performance.now() - begunReal });
  let first: ReturnType<typeof elapsed> | undefined;
  let text = "";
  let error: string | undefined;
  const patience = new AbortController();
  // The timeout uses the platform's clock, which stops while this machine is busy with other work. So a busy machine
  // does not end requests.
  const stopWaiting = stage.clock.after(PATIENCE_MS, () => patience.abort());
  try {
    const order = { model: MODEL, prompt, stream, max_tokens: 200 + (i % 100) };
    const response = await sendUserMessage(stage, key, order, patience.signal);
    for await (const part of readResponseParts(response)) {
      text += part;
      if (/"content":"[^"]/.test(text)) first ??= elapsed();
    }
    const isWhole = stream ? text.endsWith("data: [DONE]\n\n") : text.includes('"choices"');
    if (response.status !== 200 || !isWhole) error = /"code":\s*"(\w+)"/.exec(text)?.[1] ?? `status ${response.status}`;
  } catch {
    error = patience.signal.aborted ? "no answer in 10 s" : "connection lost";
  } finally {
    stopWaiting();
  }
  return { stream, error, ...(first ?? elapsed()) };
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
