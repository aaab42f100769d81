/**
 * The jobs of a spot check: a verifier scores another node's answer, or answers the same request. A request to answer
 * looks like a user's. A request to score does not, because users cannot send one, so the verifier knows that it
 * verifies.
 */
import type { JobBody } from "@tollgate/protocol/frames.ts";
import type { CancelSignal } from "../../base/cancel-signal.ts";
import { publicIdSuffix, type Uuid } from "../../base/ids.ts";
import type { SpotCheckMethod } from "../../base/stored-enumerations.ts";
import type { DispatchSink } from "../../dispatch/dispatch-request.ts";
import type { RosterNode } from "../../dispatch/roster-node.ts";
import { Relay, templateOpensThinking, toNodeSamplingOptions } from "../../inference/relay.ts";
import type { AnswerToSpotCheck, RequestPathDependencies } from "../../inference/request-path-dependencies.ts";
import { compareAnswers, compareVectors } from "./compare-answers.ts";
import { chooseCutPositions } from "./sampling.ts";
import { SCORED_TOKENS_MIN, type Score, scoreLogprobs } from "./score.ts";

/**
 * The number of positions in an answer at which a verifier scores the next token, if its engine cannot score a whole
 * text.
 */
const CUTS = 12;
/**
 * The output cap of a verifier's own answer to a request whose checked answer is very short. Enough to see whether it
 * should be longer.
 */
const AGAIN_TOKENS_MAX = 32;
/** The most characters of each answer that are compared, so that they fit the context of every embedding model. */
const MEANING_CHARS_MAX = 1_000;

export interface CheckJobContext {
  gateway: Pick<RequestPathDependencies, "dispatcher" | "meter">;
  newId: () => Uuid;
  /** Uniform in [0, 1). */
  roll: () => number;
  signal: CancelSignal;
  /** Computes the texts' vectors. Returns undefined if no embedding model is served or its node failed. */
  embed(texts: string[]): Promise<Float32Array[] | undefined>;
}

/** A verifier's result, with the number of tokens that the verifier read and wrote. */
export interface VerifierResult {
  method: SpotCheckMethod;
  /** Undefined: the engine returned nothing from which a score could be computed. */
  score: Score | undefined;
  /** The verifier's own answer to the request, if it was compared with the checked answer. */
  own?: CheckedAnswer;
  read: number;
  wrote: number;
}

/** A checked answer. The request is already parsed, so its body need not be kept. */
export interface CheckedAnswer extends Omit<AnswerToSpotCheck, "body"> {
  body: JobBody;
}

/** Has the verifier check the answer. Returns undefined when the verifier failed or refused. */
export async function requestVerification(
  jobs: CheckJobContext,
  verifier: RosterNode,
  subject: CheckedAnswer,
): Promise<VerifierResult | undefined> {
  const kind = verifier.scores[subject.model.id];
  return kind === undefined || isCompared(subject)
    ? answerAndCompare(jobs, verifier, subject)
    : score(jobs, verifier, subject, kind);
}

/**
 * Whether the node made the answer too short to score, although the request's cap allowed more. Every model finds
 * "Yes." likely, and any node can begin with a stop string. So only another node's answer shows whether such an answer
 * belongs to this prompt.
 */
const isBrief = ({ completionTokens, outputTokensMax, body }: CheckedAnswer): boolean =>
  !("input" in body) && completionTokens < Math.min(SCORED_TOKENS_MIN, outputTokensMax);

/** Whether the answer is compared with another node's, even if the verifier can score. */
export const isCompared = (subject: CheckedAnswer): boolean => "input" in subject.body || isBrief(subject);

async function score(
  { gateway, newId, roll, signal }: CheckJobContext,
  verifier: RosterNode,
  subject: CheckedAnswer,
  method: "text" | "next",
): Promise<VerifierResult | undefined> {
  const { model, endpoint, sampling, body, promptTokens, completionTokens } = subject;
  const answer = answerText(subject);
  const cuts = method === "next" ? { cuts: chooseCutPositions(answer, CUTS, roll) } : {};
  const sink = new ScoreSink();
  const order = {
    request: publicIdSuffix(newId()),
    header: { model: model.id, endpoint, stream: true, output_tokens_max: subject.outputTokensMax, sampling },
    body: { ...body, score: { answer, ...cuts } } as JobBody,
  };
  const result = await gateway.dispatcher.runOn(verifier.id, order, sink, signal);
  if (result?.end !== "finished" || sink.logprobs === undefined) return undefined;
  return { method, score: scoreLogprobs(sink.logprobs), read: promptTokens + completionTokens, wrote: 0 };
}

async function answerAndCompare(
  jobs: CheckJobContext,
  verifier: RosterNode,
  subject: CheckedAnswer,
): Promise<VerifierResult | undefined> {
  const outputTokensMax = Math.min(
    subject.outputTokensMax,
    isBrief(subject) ? AGAIN_TOKENS_MAX : Number.POSITIVE_INFINITY,
  );
  const own = await requestSecondAnswer(jobs, verifier, { ...subject, outputTokensMax });
  if (own === undefined) return undefined;
  const used = { read: subject.promptTokens, wrote: own.completionTokens };
  return { ...(await compareNodeAnswers(jobs, [subject, own], { byMeaning: !isBrief(subject) })), own, ...used };
}

/** Measures the similarity of two nodes' answers to one request. */
export async function compareNodeAnswers(
  jobs: CheckJobContext,
  [one, other]: readonly [CheckedAnswer, CheckedAnswer],
  { byMeaning }: { byMeaning: boolean },
): Promise<{ method: "vectors" | "meaning" | "words"; score: Score }> {
  if ("input" in one.body) return { method: "vectors", score: compareVectors(one.vectors, other.vectors) };
  const texts = [one.text, other.text].map((text) => text.slice(0, MEANING_CHARS_MAX));
  const vectors = byMeaning ? await jobs.embed(texts) : undefined;
  const [a, b] = [answerOf(one), answerOf(other)];
  return { method: vectors === undefined ? "words" : "meaning", score: compareAnswers(a, b, vectors) };
}

const answerOf = ({ text, completionTokens }: CheckedAnswer) => ({ text, tokens: completionTokens });

/** Has this node answer the checked request too, so that its answer can be compared with the checked one. */
export async function requestSecondAnswer(
  { gateway, newId, signal }: CheckJobContext,
  node: RosterNode,
  subject: CheckedAnswer,
): Promise<CheckedAnswer | undefined> {
  const { model, endpoint, sampling, body, outputTokensMax, formatted } = subject;
  const vectorsDue = "input" in body ? body.input.length : 0;
  const meter = gateway.meter(model.build.tokenizer);
  const relay = new Relay({ model, endpoint, meter, outputTokensMax, vectorsDue, stop: sampling.stop, stream: null });
  const header = {
    ...{ model: model.id, endpoint, stream: true },
    ...{ output_tokens_max: outputTokensMax, sampling: toNodeSamplingOptions(model, sampling) },
  };
  const order = { request: publicIdSuffix(newId()), header, body, formatted };
  const result = await gateway.dispatcher.runOn(node.id, order, relay, signal);
  if (result?.end !== "finished" && result?.end !== "enough" && result?.end !== "empty") return undefined;
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
 * The text as the engine wrote it: thinking first, between its marks. If the prompt template opens the thinking, the
 * opening mark belongs to the prompt and not to the answer.
 */
function answerText({ model, endpoint, text, reasoning }: CheckedAnswer): string {
  const marks = model.build.reasoning;
  if (marks === undefined || reasoning === "") return text;
  return `${templateOpensThinking(model, endpoint) ? "" : marks.open}${reasoning}${marks.close}${text}`;
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
