/** The state of an answer while its chunks arrive. Pure. */
import { costOfTokens } from "../../money.ts";
import type { Message } from "./settings.ts";

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

export interface Fault {
  message: string;
  code?: string | undefined;
  /** The API refused the request, so it cost nothing. */
  refused?: boolean;
  /** When the API allows a retry, in Unix milliseconds. */
  againAtMs?: number | undefined;
}

export interface Answer {
  state: "waiting" | "streaming" | "finished" | "stopped" | "failed";
  model: string;
  /** `req_…`; undefined until the API has accepted the request. */
  requestId: string | undefined;
  text: string;
  reasoning: string;
  finish: "stop" | "length" | null;
  /** The gateway's token count, from the end of a complete stream. */
  usage: Usage | undefined;
  fault: Fault | undefined;
  sentAtMs: number;
  firstAtMs: number | undefined;
  endedAtMs: number | undefined;
  /** The page was reloaded while the answer was generated. */
  interrupted?: boolean;
}

/** The parts of a stream's chunk that the page uses. */
export interface Chunk {
  choices?: {
    delta?: { content?: string | null; reasoning_content?: string | null; vendor_reasoning_content?: string | null };
    finish_reason?: "stop" | "length" | null;
  }[];
  usage?: Usage | null;
  /** The error in the last event of a failed stream. */
  error?: Fault;
}

export const newAnswer = (model: string, nowMs: number): Answer => ({
  state: "waiting",
  model,
  requestId: undefined,
  text: "",
  reasoning: "",
  finish: null,
  usage: undefined,
  fault: undefined,
  sentAtMs: nowMs,
  firstAtMs: undefined,
  endedAtMs: undefined,
});

export function takeChunk(answer: Answer, chunk: Chunk, nowMs: number): Answer {
  if (chunk.error !== undefined) return { ...answer, state: "failed", fault: chunk.error, endedAtMs: nowMs };
  const choice = chunk.choices?.[0];
  const text = choice?.delta?.content ?? "";
  const thought = choice?.delta?.reasoning_content ?? "";
  // The last delta repeats the whole reasoning.
  const reasoning = choice?.delta?.vendor_reasoning_content ?? answer.reasoning + thought;
  const spoke = text !== "" || reasoning !== "";
  return {
    ...answer,
    state: "streaming",
    text: answer.text + text,
    reasoning,
    finish: choice?.finish_reason ?? answer.finish,
    usage: chunk.usage ?? answer.usage,
    firstAtMs: answer.firstAtMs ?? (spoke ? nowMs : undefined),
  };
}

/** The stream has ended. Without a finish reason it was interrupted. */
export function endAnswer(answer: Answer, nowMs: number): Answer {
  if (answer.state === "failed" || answer.state === "stopped") return answer;
  if (answer.finish !== null) return { ...answer, state: "finished", endedAtMs: nowMs };
  return { ...answer, state: "failed", fault: { message: "The connection was lost." }, endedAtMs: nowMs };
}

export const stopAnswer = (answer: Answer, nowMs: number): Answer => ({
  ...answer,
  state: "stopped",
  endedAtMs: nowMs,
});

export const failAnswer = (answer: Answer, fault: Fault, nowMs: number): Answer => ({
  ...answer,
  state: "failed",
  fault,
  endedAtMs: nowMs,
});

export const isOver = ({ state }: Answer): boolean => state !== "waiting" && state !== "streaming";

/** There is reasoning but no answer text yet. */
export const isThinking = (answer: Answer): boolean => !isOver(answer) && answer.reasoning !== "" && answer.text === "";

export interface Prices {
  price_in_micro_1m: number | null;
  price_out_micro_1m: number | null;
}

export interface Exchange {
  id: number;
  question: string;
  /** The answers of one model, or of two side by side. */
  answers: Answer[];
}

/** The conversation as the model of one side sees it. Exchanges without any answer are left out. */
export const saidIn = (exchanges: Exchange[], side = 0): Message[] =>
  exchanges.flatMap(({ question, answers }) => {
    // If only one side was asked, the other continues from its answer.
    const text = (answers[side] ?? answers[0])?.text ?? "";
    if (text === "") return [];
    return [
      { role: "user" as const, content: question },
      { role: "assistant" as const, content: text },
    ];
  });

/** The exact cost of the counted tokens. */
export const costOf = (usage: Usage, { price_in_micro_1m, price_out_micro_1m }: Prices): bigint =>
  costOfTokens(usage.prompt_tokens, price_in_micro_1m ?? 0) +
  costOfTokens(usage.completion_tokens, price_out_micro_1m ?? 0);
