/** Runs requests on nodes (`request-run.ts`), and reports what the nodes' attempts and answers show about them. */
import type { Endpoint, Sampling } from "@tollgate/protocol/frames.ts";
import type { KeywordUse } from "@tollgate/protocol/json-schema.ts";
import type { CancelSignal } from "../base/cancel-signal.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { DispatchPlane } from "../plane/plane.ts";
import { AttemptRunner } from "./attempt-runner.ts";
import type { DispatchRequest, DispatchSink } from "./dispatch-request.ts";
import { type DispatchResult, findDispatchEnd, makeDispatchResult } from "./dispatch-result.ts";
import type { PeerGateways } from "./exchange/peer-gateways.ts";
import { type MedianSpeed, NodeSpeeds } from "./node-speeds.ts";
import { NodeWaitQueue } from "./node-wait-queue.ts";
import { listRequiredNodeProperties, RequestRun } from "./request-run.ts";
import type { Roster } from "./roster.ts";
import type { Attempt } from "./running-attempt.ts";

const QUEUE_MAX = 4096;
/** Answers with fewer tokens are not used to measure speed. */
const MEASURED_TOKENS_MIN = 8;
const JOB_MS_MAX = 900_000;

/** An answer that ended well, with times and token counts as the gateway measured them. */
export interface MeasuredAnswer {
  nodeId: string;
  model: string;
  tokens: TokenCounts;
  /** The milliseconds from the offer to the last output. An honest node cannot have had less time. */
  spanMs: number;
  /** Whether the job was one of the platform's own. */
  own: boolean;
  /** The builder's request. Undefined for the platform's own jobs. */
  request?: AnsweredRequest | undefined;
}

/** The properties of a request that spot checks need later. */
export interface AnsweredRequest {
  accountId: string;
  endpoint: Endpoint;
  stream: boolean;
  outputTokensMax: number;
  sampling: Sampling;
  /** The number of texts of an embeddings request, otherwise 0. */
  texts: number;
  /** Whether the request has an output format. */
  formatted: boolean;
  /** Whether that format is a JSON schema with keywords. */
  hasSchema: boolean;
}

interface TokenCounts {
  prompt: number;
  output: number;
}

export interface Dispatcher {
  run(order: DispatchRequest, sink: DispatchSink, signal: CancelSignal): Promise<DispatchResult>;
  /**
   * Runs a request on this node only, even if the node is busy. Resolves with undefined if the node is not connected or
   * does not serve the model.
   */
  runOn(
    nodeId: string,
    order: DispatchRequest,
    sink: DispatchSink,
    signal: CancelSignal,
  ): Promise<DispatchResult | undefined>;
  /** Records the token counts of an answer that ended well, to measure the node's speed. */
  measured(model: string, result: DispatchResult, tokens: TokenCounts, request?: AnsweredRequest): void;
  onMeasured(run: (measured: MeasuredAnswer) => void): void;
  /**
   * Calls `run` for each attempt that ended. For an empty answer, this waits until the second opinion is known or ruled
   * out.
   */
  onAttempt(run: (attempt: Attempt) => void): void;
  /**
   * Calls `run` when the dispatch plane, and not the node, turns out to have caused the node's apparent silence.
   * `sinceMs`: when the silence began, in monotonic milliseconds.
   */
  onExcused(run: (nodeId: string, sinceMs: number) => void): void;
  /**
   * Calls `run` for each offer that a node declined although it had a free slot by the gateways' counts (`busy`), or
   * did not accept in time while another node could be asked (`late`).
   */
  onRefused(run: (nodeId: string, how: "busy" | "late") => void): void;
  /** One node's median speed for a model. */
  speedOfNode(nodeId: string, model: string): MedianSpeed;
  /** The model's median speed over all connected nodes that serve it. */
  speedOf(model: string): MedianSpeed;
  /** Whether any connected node serves the model with an engine that enforces output formats. */
  keepsFormat(model: string): boolean;
  /** A keyword to name in the error if no node of the model enforces all these schema keywords; otherwise undefined. */
  unkeptKeyword(model: string, keywords: readonly KeywordUse[]): KeywordUse | undefined;
  /** The number of requests that wait for a node with this model. */
  waiting(model: string): number;
  /**
   * The highest number of jobs that the model's nodes could run at once within the last minute, by any gateway's count.
   */
  slots(model: string): number;
  /** Whether the dispatch plane is unreachable, so that no node can be reached. */
  readonly isAway: boolean;
  /** Whether the dispatch plane, or nodes on it, recently did not respond. */
  readonly isTroubled: boolean;
  close(): void;
}

export function openDispatcher(options: {
  plane: DispatchPlane;
  roster: Roster;
  clock: Clock;
  log: Log;
  gatewayId: string;
  deadlineMs: number;
  /** The longest time for a job. A longer one ends as a stall, without blaming the node. */
  jobMsMax?: number;
  /** The other gateways. Undefined: there are none. */
  peers?: Pick<PeerGateways, "exchange" | "slotsTold" | "gateways"> & Partial<Pick<PeerGateways, "shareLoads">>;
}): Dispatcher {
  const { roster, clock, deadlineMs, peers } = options;
  const attemptListeners: ((attempt: Attempt) => void)[] = [];
  const measuredListeners: ((measured: MeasuredAnswer) => void)[] = [];
  const excusedListeners: ((nodeId: string, sinceMs: number) => void)[] = [];
  const refusedListeners: ((nodeId: string, how: "busy" | "late") => void)[] = [];
  const over = (attempt: Attempt): void => {
    // If the grammar could not be built, the output format is the cause, and the attempt says nothing about the node.
    if (attempt.unbuilt) return;
    if (hasFailed(attempt)) roster.failed(attempt.node, "failed");
    for (const run of attemptListeners) run(attempt);
  };
  const attempts = new AttemptRunner({
    ...options,
    jobMsMax: options.jobMsMax ?? JOB_MS_MAX,
    excused: (nodeId, sinceMs) => {
      for (const run of excusedListeners) run(nodeId, sinceMs);
    },
    refused: (nodeId, how) => {
      for (const run of refusedListeners) run(nodeId, how);
    },
    gateways: () => peers?.gateways() ?? 1,
    readMs: (model, promptTokens) => {
      const { ttftMsPerToken } = speeds.ofModel(roster.serving({ model }), model);
      return ttftMsPerToken == null ? null : ttftMsPerToken * promptTokens;
    },
  });
  const speeds = new NodeSpeeds();
  const tellSpeed = peers?.exchange(speeds.topic((nodeId) => roster.find(nodeId) !== undefined));
  const ttftMs = (nodeId: string, model: string): number | null => speeds.ttftMsOf(nodeId, model);
  const shareLoads = peers?.shareLoads;
  const queue = new NodeWaitQueue({ roster, clock, waitingMax: QUEUE_MAX, ttftMs, shareLoads });
  roster.onGone((nodeId) => speeds.forget(nodeId));
  return {
    run: (order, sink, signal) =>
      new RequestRun({
        attempts,
        queue,
        roster,
        clock,
        over,
        order,
        sink,
        signal,
        deadlineMs,
      }).go(),
    async runOn(nodeId, order, sink, signal) {
      const node = roster.find(nodeId);
      if (node === undefined || !node.models.has(order.header.model)) return undefined;
      const startedAt = clock.monotonic();
      roster.sent(node);
      const attempt = await attempts.run(order, 1, node, sink, { signal });
      over(attempt);
      const end = attempt.state === "declined" ? "no_capacity" : findDispatchEnd(attempt);
      return {
        ...makeDispatchResult(end, attempt, { startedAt, accepted: attempt.acceptedAt === null ? 0 : 1 }),
        own: true,
      };
    },
    measured(model, { pace, own = false }, tokens, request) {
      if (pace === null) return;
      const { nodeId, ttftMs, spanMs, outputMs } = pace;
      // The measured time starts with the first token, so that token is not counted.
      const long = tokens.output >= MEASURED_TOKENS_MIN && outputMs > 0;
      const tokensPerSecond = long ? ((tokens.output - 1) * 1000) / outputMs : null;
      const ttftMsPerToken = tokens.prompt > 0 ? ttftMs / tokens.prompt : undefined;
      const speed = { at: clock.monotonic(), ttftMs, ttftMsPerToken, tokensPerSecond };
      speeds.note(nodeId, model, speed);
      tellSpeed?.(nodeId, { model, ...speed });
      for (const run of measuredListeners) run({ nodeId, model, tokens, spanMs, own, request });
    },
    onMeasured: (run) => measuredListeners.push(run),
    onAttempt: (run) => attemptListeners.push(run),
    onExcused: (run) => excusedListeners.push(run),
    onRefused: (run) => refusedListeners.push(run),
    speedOfNode: (nodeId, model) => speeds.ofNode(nodeId, model),
    speedOf: (model) => speeds.ofModel(roster.serving({ model }), model),
    keepsFormat: (model) => roster.serving({ model, formatted: true }).length > 0,
    unkeptKeyword(model, keywords) {
      const need = listRequiredNodeProperties(model, keywords);
      if (roster.serves(need, new Set())) return undefined;
      // Prefers a keyword that no node enforces. If each is enforced by some node, but no node enforces all, any can be
      // named.
      const alone = keywords.find((use) => !roster.serves(listRequiredNodeProperties(model, [use]), new Set()));
      return alone ?? keywords.at(-1);
    },
    waiting: (model) => queue.waiting(model),
    slots: (model) => Math.max(roster.slots(model), peers?.slotsTold(model) ?? 0),
    get isAway() {
      return options.plane.health.isAway;
    },
    get isTroubled() {
      return attempts.isTroubled;
    },
    close: () => attempts.close(),
  };
}

/**
 * Whether this attempt counts as a failure of its node, so that other nodes are asked first for a while. Two failures
 * do not count, because a builder can cause them: an empty answer that another node refuted (`miss`), and the refusal
 * of a prompt before output.
 */
function hasFailed({ state, failure, firstOutputAt }: Attempt): boolean {
  if (failure === null || state === "cancelled" || state === "cut") return false;
  return failure === "prompt" ? firstOutputAt !== null : failure !== "miss";
}
