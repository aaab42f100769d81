/**
 * The thread of the honest users: a request every few milliseconds, streamed and whole in turn, whether or not the last one was
 * answered; and beside each one a request to a server that has nothing to do with the platform. Started by honest-users.ts.
 */
import { parentPort, workerData } from "node:worker_threads";
import { askAgain } from "./ask-again.ts";

export interface Sample {
  /** On the clock of `performance.timeOrigin` + `performance.now()`, which threads share. */
  at: number;
  ms: number;
  /** What was wrong with the answer; null for a good one. */
  wrong: string | null;
  /** It was told to ask again, and did. */
  again: boolean;
}

type Seen = Pick<Sample, "wrong" | "again">;

export interface Told {
  users: Sample[];
  control: Sample[];
}

export interface Orders {
  baseUrl: string;
  key: string;
  model: string;
  controlUrl: string;
  everyMs: number;
}

const OUTSTANDING_MAX = 400;
const ANSWER = "calm words";
const { baseUrl, key, model, controlUrl, everyMs } = workerData as Orders;
const told: Told = { users: [], control: [] };
let [sent, outstanding] = [0, 0];

const now = (): number => performance.timeOrigin + performance.now();

async function timed(into: Sample[], run: () => Promise<Seen>): Promise<void> {
  const at = now();
  const seen = await run().catch((error: Error) => ({
    wrong: `${error.message} ${(error.cause as Error | undefined)?.message ?? ""}`,
    again: false,
  }));
  into.push({ at, ms: now() - at, ...seen });
}

async function useIt(stream: boolean): Promise<Seen> {
  const init = {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model,
      stream,
      max_tokens: 20,
      messages: [{ role: "user", content: `#script ${JSON.stringify({ text: ANSWER })}` }],
    }),
  };
  const { answer, tries } = await askAgain(() => fetch(`${baseUrl}/v1/chat/completions`, init));
  return { wrong: wrongWith(answer.status, await answer.text(), stream), again: tries > 1 };
}

function wrongWith(status: number, text: string, stream: boolean): string | null {
  if (status !== 200) return `${status}: ${text.slice(0, 200)}`;
  if (stream ? text.trimEnd().endsWith("data: [DONE]") : text.includes(ANSWER)) return null;
  return `not the answer: ${text.slice(-200)}`;
}

async function useOther(): Promise<Seen> {
  const response = await fetch(controlUrl);
  await response.text();
  return { wrong: response.status === 200 ? null : String(response.status), again: false };
}

const timer = setInterval(() => {
  if (outstanding >= OUTSTANDING_MAX) return;
  outstanding += 1;
  const both = [timed(told.users, () => useIt(sent % 2 === 0)), timed(told.control, useOther)];
  sent += 1;
  void Promise.all(both).finally(() => {
    outstanding -= 1;
  });
}, everyMs);

parentPort?.on("message", (message: "report" | "stop") => {
  if (message === "stop") {
    clearInterval(timer);
    parentPort?.close();
    return;
  }
  // What was begun before the question belongs to the answer.
  const begun = sent;
  const look = setInterval(() => {
    if (told.users.length < begun || told.control.length < begun) return;
    clearInterval(look);
    parentPort?.postMessage(told);
  }, 5);
});
