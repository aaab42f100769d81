/** The state of an answer, updated as chunks of the stream arrive. Pure. */
import { computeTokenCost } from "../../dollar-amounts.ts";
import type { Message } from "./playground-settings.ts";

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

export interface Fault {
  message: string;
  code?: string | undefined;
  /** Whether the API refused the request, which then cost nothing. */
  refused?: boolean;
  /** When the API allows a retry, in Unix milliseconds, if it said so. */
  againAtMs?: number | undefined;
}

export interface Answer {
  state: "waiting" | "streaming" | "finished" | "stopped" | "failed";
  model: string;
  /** The request ID, `req_…`; undefined until the API has accepted the request. */
  requestId: string | undefined;
  text: string;
  reasoning: string;
  finish: "stop" | "length" | null;
  /** The gateway's token counts, from the last chunk of a complete stream. */
  usage: Usage | undefined;
  fault: Fault | undefined;
  sentAtMs: number;
  firstAtMs: number | undefined;
  endedAtMs: number | undefined;
  /** Whether the page was reloaded while the answer was generated. */
  interrupted?: boolean;
}

/** The fields of a stream's chunk that the page uses. */
export interface StreamChunk {
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

export function applyChunk(answer: Answer, chunk: StreamChunk, nowMs: number): Answer {
  if (chunk.error !== undefined) return { ...answer, state: "failed", fault: chunk.error, endedAtMs: nowMs };
  const choice = chunk.choices?.[0];
  const text = choice?.delta?.content ?? "";
  const thought = choice?.delta?.reasoning_content ?? "";
  // The last chunk repeats the whole reasoning text.
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

/** Ends an answer when its stream ends. Without a finish reason, the answer has failed. */
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

export const isAnswerOver = ({ state }: Answer): boolean => state !== "waiting" && state !== "streaming";

/** Whether the answer has reasoning but no text yet. */
export const isThinking = (answer: Answer): boolean =>
  !isAnswerOver(answer) && answer.reasoning !== "" && answer.text === "";

export interface Prices {
  price_in_micro_1m: number | null;
  price_out_micro_1m: number | null;
}

export interface Exchange {
  id: number;
  question: string;
  /** One answer, or two answers of compared models. */
  answers: Answer[];
}

/** The conversation to send to the model of one side. Exchanges without any answer are omitted. */
export const makeModelMessages = (exchanges: Exchange[], side = 0): Message[] =>
  exchanges.flatMap(({ question, answers }) => {
    // If only one model was asked, both sides continue from its answer.
    const text = (answers[side] ?? answers[0])?.text ?? "";
    if (text === "") return [];
    return [
      { role: "user" as const, content: question },
      { role: "assistant" as const, content: text },
    ];
  });

/** The exact cost of an answer with these token counts. */
export const computeAnswerCost = (usage: Usage, { price_in_micro_1m, price_out_micro_1m }: Prices): bigint =>
  computeTokenCost(usage.prompt_tokens, price_in_micro_1m ?? 0) +
  computeTokenCost(usage.completion_tokens, price_out_micro_1m ?? 0);
