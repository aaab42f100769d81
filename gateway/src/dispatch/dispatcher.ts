/**
 * Runs a request on a node: waits for a free node, offers it the job, and asks the next node if it declines. If the
 * node stops responding before any output reached the client, or returns no output, the request is retried once on
 * another node. A request that the dispatch plane lost is retried too, and that does not count as the one retry.
 */
import type { Endpoint } from "@tollgate/protocol/frames.ts";
import type { KeywordUse } from "@tollgate/protocol/json-schema.ts";
import type { CancelSignal } from "../base/cancel.ts";
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { PREFILL_MS_MAX, SILENT_NODES_PER_REQUEST_MAX } from "../base/node-trust-thresholds.ts";
import type { AttemptEnd } from "../base/states.ts";
import type { DispatchPlane } from "../plane/plane.ts";
import { decideRetry, judgeSecondOpinion } from "./attempt.ts";
import { AttemptRunner } from "./attempts.ts";
import type { DispatchRequest, DispatchSink } from "./dispatch-request.ts";
import type { Peers } from "./exchange/peers.ts";
import type { NodeRequirements } from "./node-index.ts";
import type { NodeRecord } from "./node-records.ts";
import { NodeQueue, type QueueResult } from "./queue.ts";
import type { Roster } from "./roster.ts";
import type { Attempt } from "./running-attempt.ts";
import { type MedianSpeed, NodeSpeeds } from "./speeds.ts";

const RETRIES = 1;
const QUEUE_MAX = 4096;
const OFFERS_MAX = 99;
/** Answers with fewer tokens are not used to measure speed. */
const MEASURED_TOKENS_MIN = 8;
const JOB_MS_MAX = 900_000;

export interface DispatchResult {
  /**
   * `enough`: the sink needed no more output, so the node was stopped. `empty`: no output, confirmed by a second node.
   * `unconfirmed`: no output, and no other node could confirm that. `unbuilt`: the engine could not build a grammar
   * from the output format. `broken`: the node broke the protocol. `cut`: the dispatch plane lost a node that was well,
   * and the request could not be retried in time.
   */
  end:
    | "finished"
    | "enough"
    | "empty"
    | "unconfirmed"
    | "failed"
    | "unbuilt"
    | "broken"
    | "quiet"
    | "cut"
    | "no_capacity"
    | "cancelled";
  finish: "stop" | "length" | null;
  /** The node that did the work and may be paid; null if no node accepted, or its attempt was abandoned. */
  server: NodeRecord | null;
  /** How many nodes accepted the request. */
  attempts: number;
  /** Every attempt, if there was more than one. */
  tries?: AttemptTimes[];
  /**
   * The milliseconds from the start of dispatch to the acceptance (`queueMs`) and to the first output, for the attempt
   * that produced the result.
   */
  queueMs: number | null;
  ttftMs: number | null;
  /**
   * The times of the attempt that produced the result, counted from its own offer, to measure the node's speed. Null if
   * there was no output.
   */
  pace: Pace | null;
  /**
   * True for a job of the platform itself (`runOn`). It earns the node no trust, because no user asked for the answer.
   */
  own?: boolean;
}

/** All times in whole milliseconds since the start of dispatch. */
interface AttemptTimes {
  nodeId: Uuid;
  end: AttemptEnd;
  offeredMs: number;
  acceptedMs: number | null;
  firstOutputMs: number | null;
  endedMs: number;
}

interface Pace {
  nodeId: string;
  /** The milliseconds from the offer to the first output, and to the last. */
  ttftMs: number;
  spanMs: number;
  /** The milliseconds between the first output and the last. */
  outputMs: number;
}

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
  /** Undefined: the engine's default temperature. */
  temperature: number | undefined;
  /** Whether the request has an output format. */
  formatted: boolean;
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
  peers?: Pick<Peers, "exchange" | "slotsTold" | "gateways"> & Partial<Pick<Peers, "shareLoads">>;
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
  const queue = new NodeQueue({ roster, clock, waitingMax: QUEUE_MAX, ttftMs, shareLoads });
  roster.onGone((nodeId) => speeds.forget(nodeId));
  return {
    run: (order, sink, signal) =>
      new Run({
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
      const end = attempt.state === "declined" ? "no_capacity" : endOf(attempt);
      return { ...resultOf(end, attempt, { startedAt, accepted: attempt.acceptedAt === null ? 0 : 1 }), own: true };
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
      const need = needOf(model, keywords);
      if (roster.serves(need, new Set())) return undefined;
      // Prefers a keyword that no node enforces. If each is enforced by some node, but no node enforces all, any can be
      // named.
      const alone = keywords.find((use) => !roster.serves(needOf(model, [use]), new Set()));
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

interface RunOptions {
  attempts: AttemptRunner;
  queue: NodeQueue;
  roster: Roster;
  clock: Clock;
  /** Called for every attempt that ended, once the node at fault is known. */
  over: (attempt: Attempt) => void;
  order: DispatchRequest;
  sink: DispatchSink;
  signal: CancelSignal;
  deadlineMs: number;
}

class Run {
  readonly #o: RunOptions;
  readonly #startedAt: number;
  /** Nodes that ran this request; they are not asked again. */
  readonly #tried = new Set<string>();
  /** Nodes that declined this request a moment ago; they are asked again later. */
  readonly #declined = new Set<string>();
  /** All nodes that declined this request, because repeated refusals of one request count once. */
  readonly #refusedBy = new Set<string>();
  /** Nodes that fell silent during this request. */
  readonly #silent = new Set<string>();
  /** Whether the first silence has already been counted against its node or excused. */
  #isSilenceJudged = false;
  readonly #need: NodeRequirements;
  /** The account of the request; the platform's own jobs share one. */
  readonly #account: string;
  #accepted = 0;
  readonly #tries: AttemptTimes[] = [];
  /** How long the request's nodes have read the prompt in total, in milliseconds. */
  #readMs = 0;
  /** The deadline by which a node must accept. */
  #deadline: number;
  /** When the dispatch plane first lost an attempt of this request. */
  #outageAt: number | undefined;

  constructor(options: RunOptions) {
    this.#o = options;
    const { header, formatted = false, keywords = [], proven = false, origin } = options.order;
    this.#account = origin?.accountId ?? "";
    this.#need = { ...(formatted ? needOf(header.model, keywords) : { model: header.model }), proven };
    this.#startedAt = options.clock.monotonic();
    this.#deadline = this.#startedAt + options.deadlineMs;
  }

  async go(): Promise<DispatchResult> {
    let retriesLeft = RETRIES;
    /** The attempt without an answer that was retried on another node. A request gets only one such retry. */
    let first: Attempt | undefined;
    /** The latest attempt that ended as `cut`: the dispatch plane lost its node. */
    let cut: Attempt | undefined;
    for (let number = 1; number <= OFFERS_MAX; number++) {
      const turn = await this.#nextNode(first);
      if (turn.kind === "cancelled") return this.#result("cancelled", undefined, first);
      // Without a node for the retry, the first attempt decides how the request ends.
      if (turn.kind === "no_capacity") break;
      const { attempts, order, sink, signal } = this.#o;
      const acceptBy = cut && this.#deadline;
      const mayPassOver = (): boolean => this.#couldAskAnother(turn.node, first);
      const prefillMsMax = PREFILL_MS_MAX - this.#readMs;
      const attempt = await attempts.run(order, number, turn.node, sink, {
        signal,
        acceptBy,
        mayPassOver,
        refusedBefore: this.#refusedBy.has(turn.node.id),
        prefillMsMax,
        began: () => first && this.#judgeSilence(first),
        ending: () => this.#o.queue.ended(this.#need, this.#account),
      });
      this.#note(attempt);
      const end = attempt.state as AttemptEnd;
      const decision = decideRetry(end, { reachedClient: sink.reachedClient, retriesLeft });
      this.#judge(attempt, first, decision === "retry");
      // After too many silent nodes, the request itself may be the cause, so no more nodes are asked.
      if (this.#silent.size >= SILENT_NODES_PER_REQUEST_MAX && end === "declined")
        return this.#result("quiet", first ?? attempt);
      if (end === "declined") {
        this.#declined.add(turn.node.id);
        this.#refusedBy.add(turn.node.id);
      } else if (decision === "again") {
        cut = attempt;
        if (!this.#mayTryAgain(attempt)) break;
      } else if (first?.state === "empty") {
        return this.#secondOpinion(first, attempt);
      } else if (decision === "retry") {
        retriesLeft -= 1;
        first = attempt;
        this.#tried.add(turn.node.id);
      } else {
        // The retry is used up, so no second node can confirm the empty answer.
        return this.#result(end === "empty" ? "unconfirmed" : endOf(attempt), attempt, attempt);
      }
    }
    if (first?.state === "empty") return this.#result("unconfirmed", first, first);
    if (first !== undefined && !this.#hasOtherHosts(first)) this.#judgeSilence(first);
    if (cut !== undefined) return this.#result("cut", cut);
    return first === undefined ? this.#result("no_capacity", undefined) : this.#result("quiet", first);
  }

  /**
   * Decides whether silence counts against the node, because the request itself may be the cause. It counts once
   * another node returns output for the same request, or if no other host serves the model. If a node of another host
   * falls silent too, it counts against neither.
   */
  #judge(attempt: Attempt, first: Attempt | undefined, isRetried: boolean): void {
    const { state } = attempt;
    // An empty answer is counted once its second opinion is known.
    if (state === "empty") return;
    if (first?.state !== "quiet") {
      if (state !== "quiet" || !isRetried) this.#o.over(attempt);
      return;
    }
    if (state === "quiet") {
      const isKin = attempt.node.nodeRecord.hostAccountId === first.node.nodeRecord.hostAccountId;
      if (!isKin && !this.#isSilenceJudged) return;
      this.#judgeSilence(first);
    }
    this.#o.over(attempt);
  }

  #judgeSilence(first: Attempt): void {
    if (first.state !== "quiet" || this.#isSilenceJudged) return;
    this.#isSilenceJudged = true;
    this.#o.over(first);
  }

  /** Whether a node of another host, busy or free, could serve the request. */
  #hasOtherHosts({ node }: Attempt): boolean {
    return this.#o.roster.serves(this.#need, this.#kinOf(node));
  }

  #kinOf({ nodeRecord: { hostAccountId } }: Attempt["node"]): Set<string> {
    const kin = this.#o.roster.nodes().filter(({ nodeRecord }) => nodeRecord.hostAccountId === hostAccountId);
    return new Set(kin.map(({ id }) => id));
  }

  #note({ offeredAt, acceptedAt, firstOutputAt, aliveAt, failure, node, state }: Attempt): void {
    const since = (at: number): number => Math.round(at - this.#startedAt);
    this.#tries.push({
      nodeId: node.nodeRecord.nodeId,
      end: state as AttemptEnd,
      offeredMs: since(offeredAt),
      acceptedMs: acceptedAt && since(acceptedAt),
      firstOutputMs: firstOutputAt && since(firstOutputAt),
      endedMs: since(this.#o.clock.monotonic()),
    });
    if (acceptedAt !== null) {
      this.#accepted += 1;
      this.#readMs += (firstOutputAt ?? aliveAt) - acceptedAt;
    }
    if (failure === "silent" || failure === "lost") this.#silent.add(node.id);
  }

  /** Whether another free node could be asked instead of this one. */
  #couldAskAnother({ id }: { id: string }, first: Attempt | undefined): boolean {
    const excluded = new Set([id]).union(this.#declined).union(this.#ruledOut(first));
    return this.#o.roster.pick(this.#need, excluded, () => null) !== undefined;
  }

  /**
   * Decides whether to retry after the dispatch plane lost an attempt. A node must accept within the dispatch deadline,
   * counted from the first loss. Consecutive losses count as one outage, so that deadlines do not add up.
   */
  #mayTryAgain({ acceptedAt }: Attempt): boolean {
    const { clock, deadlineMs } = this.#o;
    const now = clock.monotonic();
    const isNew = this.#outageAt === undefined || now - this.#outageAt >= deadlineMs;
    if (acceptedAt !== null && isNew) this.#outageAt = now;
    this.#deadline = (this.#outageAt ?? this.#startedAt) + deadlineMs;
    return now < this.#deadline;
  }

  #secondOpinion(first: Attempt, second: Attempt): DispatchResult {
    const opinion = judgeSecondOpinion({ ...second, hadOutput: second.firstOutputAt !== null });
    if (opinion === "refuted") first.failure = "miss";
    if (opinion === "shared") this.#o.over(second);
    return opinion === "none" ? this.#result("unconfirmed", first, first) : this.#result(endOf(second), second, first);
  }

  #nextNode(first: Attempt | undefined): Promise<QueueResult> {
    return this.#o.queue.wait(this.#need, {
      account: this.#account,
      excluded: this.#ruledOut(first),
      declined: this.#declined,
      deadline: this.#deadline,
      signal: this.#o.signal,
    });
  }

  /**
   * Nodes that may not be asked next. The second node must belong to another host if possible: a host must not confirm
   * its own empty answers or excuse its own silences.
   */
  #ruledOut(first: Attempt | undefined): Set<string> {
    if (first === undefined) return this.#tried;
    const all = this.#tried.union(this.#kinOf(first.node));
    return this.#o.roster.serves(this.#need, all) ? all : this.#tried;
  }

  /**
   * Builds the result. `unjudged`: an attempt whose judgement waited for another node's answer to the same request.
   * That answer has arrived or can no longer arrive, so an empty attempt is reported now.
   */
  #result(end: DispatchResult["end"], attempt: Attempt | undefined, unjudged?: Attempt): DispatchResult {
    if (unjudged?.state === "empty") this.#o.over(unjudged);
    const result = resultOf(end, attempt, { startedAt: this.#startedAt, accepted: this.#accepted });
    return this.#tries.length > 1 ? { ...result, tries: this.#tries } : result;
  }
}

const needOf = (model: string, keywords: readonly KeywordUse[]): NodeRequirements => ({
  model,
  formatted: true,
  keywords: keywords.map(({ needs }) => needs),
});

/**
 * Whether this attempt counts as a failure of its node, so that other nodes are asked first for a while. Two failures
 * do not count, because a builder can cause them: an empty answer that another node refuted (`miss`), and the refusal
 * of a prompt before output.
 */
function hasFailed({ state, failure, firstOutputAt }: Attempt): boolean {
  if (failure === null || state === "cancelled" || state === "cut") return false;
  return failure === "prompt" ? firstOutputAt !== null : failure !== "miss";
}

/** How the request ends if this is its last attempt. */
function endOf({ state, enough, unbuilt }: Attempt): DispatchResult["end"] {
  if (enough) return "enough";
  if (unbuilt) return "unbuilt";
  if (state === "lost" || state === "expired") return "quiet";
  return state as Exclude<AttemptEnd, "lost" | "expired" | "declined">;
}

function resultOf(
  end: DispatchResult["end"],
  attempt: Attempt | undefined,
  { startedAt, accepted }: { startedAt: number; accepted: number },
): DispatchResult {
  const since = (at: number | null | undefined): number | null => (at == null ? null : at - startedAt);
  return {
    end,
    finish: attempt?.finish ?? null,
    server: attempt?.acceptedAt == null ? null : attempt.node.nodeRecord,
    attempts: accepted,
    queueMs: since(attempt?.acceptedAt),
    ttftMs: since(attempt?.firstOutputAt),
    pace: attempt === undefined ? null : paceOf(attempt),
  };
}

function paceOf(attempt: Attempt): Pace | null {
  const { node, stream, offeredAt, acceptedAt, firstOutputAt, lastOutputAt } = attempt;
  if (acceptedAt === null || firstOutputAt === null || lastOutputAt === null) return null;
  return {
    nodeId: node.id,
    ttftMs: firstOutputAt - offeredAt,
    spanMs: lastOutputAt - offeredAt,
    // An unstreamed answer arrives in few large pieces. Its time is counted from the acceptance, because generating the
    // first piece took time too.
    outputMs: lastOutputAt - (stream ? firstOutputAt : acceptedAt),
  };
}
