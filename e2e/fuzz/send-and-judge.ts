/** Sends one request of a run and returns the mistakes in its response. */
import type { ReceivedResponse } from "./expected-response.ts";
import { findMistakes } from "./find-answer-mistakes.ts";
import type { FuzzCase } from "./fuzz-case.ts";
import { type FuzzTarget, NoValidResponseError } from "./fuzz-target.ts";
import type { KeepAliveSender } from "./keep-alive-sender.ts";
import { sendOverNewSocket } from "./send-over-new-socket.ts";

export interface FuzzCaseResult {
  answers: ReceivedResponse[];
  mistakes: string[];
}

export async function sendAndJudge(
  shot: FuzzCase,
  target: FuzzTarget,
  agent: KeepAliveSender,
): Promise<FuzzCaseResult> {
  try {
    if (shot.via === "agent") {
      const answer = await agent.send(shot);
      return { answers: [answer], mistakes: findMistakes(answer, shot.expected, shot.method) };
    }
    const answers = await sendOverNewSocket(target, shot);
    const found = answers.flatMap((answer, i) => findMistakes(answer, shot.answers[i] ?? shot.last ?? []));
    return { answers, mistakes: found };
  } catch (error) {
    if (!(error instanceof NoValidResponseError)) throw error;
    return { answers: [], mistakes: [error.message] };
  }
}

const SHOWN_CHARS_MAX = 4000;
const cut = (text: string): string =>
  text.length <= SHOWN_CHARS_MAX ? text : `${text.slice(0, SHOWN_CHARS_MAX)}… (${text.length} characters)`;

/** Formats the request so that a person can send it again. */
export function formatFuzzCase(shot: FuzzCase): string {
  if (shot.via === "socket") {
    const pieces = shot.pieces.map((piece) => JSON.stringify(piece.toString("latin1")));
    return `${cut(pieces.join("\n"))}\nafterwards: ${shot.afterwards}`;
  }
  const headers = Object.entries(shot.headers).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  const body = shot.body === null ? "no body" : `body: ${JSON.stringify(shot.body.toString("latin1"))}`;
  return cut([`${shot.method} ${shot.path}`, ...headers, body].join("\n"));
}

export function formatAnswer({ status, headers, text }: ReceivedResponse): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return cut([`HTTP ${status}`, ...lines, text].join("\n"));
}
