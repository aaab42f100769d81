/** The jobs of a check: a verifier scores an answer, or answers the same request. Nodes cannot tell them from requests. */
import type { JobBody } from "@tollgate/protocol/frames.ts";
import type { CancelSignal } from "../../base/cancel.ts";
import { suffixOf, type Uuid } from "../../base/ids.ts";
import type { CheckMethod } from "../../base/states.ts";
import type { DispatchSink } from "../../dispatch/order.ts";
import type { RosterNode } from "../../dispatch/roster-node.ts";
import type { DrawnAnswer, Gateway } from "../../inference/gateway.ts";
import { nodeSampling, opensThinking, Relay } from "../../inference/relay.ts";
import { compareAnswers, compareVectors } from "./compare.ts";
import { cutsOf } from "./sampling.ts";
import { type Score, scoreOf } from "./score.ts";

/** The positions at which an engine is asked that can only score the next token. */
const CUTS = 12;
/** The compared part of each answer, which fits the context of every embedding model. */
const MEANING_CHARS_MAX = 1_000;

export interface CheckJobs {
  gateway: Pick<Gateway, "dispatcher" | "meter">;
  newId: () => Uuid;
  /** Uniform in [0, 1). */
  roll: () => number;
  signal: CancelSignal;
  /** The texts' vectors. Undefined: no embedding model is served, or its node failed. */
  embed(texts: string[]): Promise<Float32Array[] | undefined>;
}

/** A verifier's result, with the tokens that it read and wrote. */
export interface Verification {
  method: CheckMethod;
  /** Undefined: the answer is too short to score. */
  score: Score | undefined;
  read: number;
  wrote: number;
}

/** An answer under check, parsed so that the request's body need not be kept. */
export interface Subject extends Omit<DrawnAnswer, "body"> {
  body: JobBody;
}

/** Undefined when the verifier failed or refused. */
export async function verify(
  jobs: CheckJobs,
  verifier: RosterNode,
  subject: Subject,
): Promise<Verification | undefined> {
  const kind = verifier.scores[subject.model.id];
  return kind === undefined || "input" in subject.body
    ? answerAndCompare(jobs, verifier, subject)
    : score(jobs, verifier, subject, kind);
}

async function score(
  { gateway, newId, roll, signal }: CheckJobs,
  verifier: RosterNode,
  subject: Subject,
  method: "text" | "next",
): Promise<Verification | undefined> {
  const { model, endpoint, sampling, body, promptTokens, completionTokens } = subject;
  const answer = answerText(subject);
  const cuts = method === "next" ? { cuts: cutsOf(answer, CUTS, roll) } : {};
  const sink = new ScoreSink();
  const order = {
    request: suffixOf(newId()),
    header: { model: model.id, endpoint, stream: true, output_tokens_max: subject.outputTokensMax, sampling },
    body: { ...body, score: { answer, ...cuts } } as JobBody,
  };
  const result = await gateway.dispatcher.runOn(verifier.id, order, sink, signal);
  if (result?.end !== "finished" || sink.logprobs === undefined) return undefined;
  return { method, score: scoreOf(sink.logprobs, method), read: promptTokens + completionTokens, wrote: 0 };
}

async function answerAndCompare(
  jobs: CheckJobs,
  verifier: RosterNode,
  subject: Subject,
): Promise<Verification | undefined> {
  const own = await answerAgain(jobs, verifier, subject);
  if (own === undefined) return undefined;
  const used = { read: subject.promptTokens, wrote: own.completionTokens };
  if ("input" in subject.body)
    return { method: "vectors", score: compareVectors(subject.vectors, own.vectors), ...used };
  const [one, other] = [subject, own].map((each) => ({ text: each.text, tokens: each.completionTokens }));
  if (one === undefined || other === undefined) return undefined;
  const vectors = await jobs.embed([one, other].map(({ text }) => text.slice(0, MEANING_CHARS_MAX)));
  return { method: vectors === undefined ? "words" : "meaning", score: compareAnswers(one, other, vectors), ...used };
}

/** Has this node answer the same request. */
export async function answerAgain(
  { gateway, newId, signal }: CheckJobs,
  node: RosterNode,
  subject: Subject,
): Promise<Subject | undefined> {
  const { model, endpoint, sampling, body, outputTokensMax, formatted } = subject;
  const vectorsDue = "input" in body ? body.input.length : 0;
  const meter = gateway.meter(model.build.tokenizer);
  const relay = new Relay({ model, endpoint, meter, outputTokensMax, vectorsDue, stop: sampling.stop, stream: null });
  const header = {
    ...{ model: model.id, endpoint, stream: true },
    ...{ output_tokens_max: outputTokensMax, sampling: nodeSampling(model, sampling) },
  };
  const order = { request: suffixOf(newId()), header, body, formatted };
  const result = await gateway.dispatcher.runOn(node.id, order, relay, signal);
  if (result?.end !== "finished" && result?.end !== "enough") return undefined;
  const counts = relay.end();
  return {
    ...subject,
    nodeId: node.id,
    completionTokens: counts.answerTokens + counts.reasoningTokens,
    text: relay.text,
    reasoning: relay.reasoning,
    vectors: relay.embeddings,
  };
}

/**
 * The text as the engine wrote it: thinking first, between its marks. If the template opens the thinking, the first mark belongs to the
 * prompt.
 */
function answerText({ model, endpoint, text, reasoning }: Subject): string {
  const marks = model.build.reasoning;
  if (marks === undefined || reasoning === "") return text;
  return `${opensThinking(model, endpoint) ? "" : marks.open}${reasoning}${marks.close}${text}`;
}

class ScoreSink implements DispatchSink {
  logprobs: readonly (number | null)[] | undefined;
  readonly reachedClient = false;

  begin(): void {
    this.logprobs = undefined;
  }

  delta(): "broken" {
    return "broken";
  }

  vectors(): "broken" {
    return "broken";
  }

  scored(logprobs: readonly (number | null)[]): "more" | "broken" {
    if (this.logprobs !== undefined) return "broken";
    this.logprobs = logprobs;
    return "more";
  }

  finished(): "answered" | "broken" {
    return this.logprobs === undefined ? "broken" : "answered";
  }
}
