/**
 * Takes a request to a node and back: waits for a free node, offers it the job, and asks the next one when it declines. It retries once
 * on another node when the first stops responding before any output reached the client, or returns none. Requests that the plane lost
 * are retried without counting.
 */
import type { Endpoint } from "@tollgate/protocol/frames.ts";
import type { KeywordUse } from "@tollgate/protocol/json-schema.ts";
import type { CancelSignal } from "../base/cancel.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { PREFILL_MS_MAX, SILENT_NODES_MAX } from "../base/node-thresholds.ts";
import type { Plane } from "../plane/plane.ts";
import { type AttemptEnd, decideOpinion, decideRetry } from "./attempt.ts";
import { Attempts } from "./attempts.ts";
import type { Peers } from "./exchange/peers.ts";
import type { Need } from "./node-index.ts";
import type { NodeRecord } from "./node-records.ts";
import type { DispatchOrder, DispatchSink } from "./order.ts";
import { NodeQueue, type Turn } from "./queue.ts";
import type { Roster } from "./roster.ts";
import type { Attempt } from "./running-attempt.ts";
import { type MedianSpeed, Speeds } from "./speeds.ts";

const RETRIES = 1;
const QUEUE_MAX = 4096;
const OFFERS_MAX = 99;
/** A shorter answer says nothing about speed. */
const MEASURED_TOKENS_MIN = 8;
const JOB_MS_MAX = 900_000;

export interface DispatchResult {
  /**
   * `enough`: the sink had what it wanted and the node was stopped. `empty`: no output, and a second node found none
   * either. `unconfirmed`: no output, and no other node had an opinion. `unbuilt`: the engine could not build a grammar from the
   * output format. `broken`: the node broke the protocol. `cut`: the
   * plane lost a node that was well, and the request could not be tried again, or not in time.
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
  /** The node whose work this is, and so may be paid; null when none accepted, or its attempt was abandoned. */
  server: NodeRecord | null;
  /** How many nodes accepted the request. */
  attempts: number;
  /** From the order to the acceptance, and from the order to the first output, of the attempt that counts. */
  queueMs: number | null;
  ttftMs: number | null;
  /** The node's part of the time, for measuring it. Null when it gave no output. */
  pace: Pace | null;
  /** One of the platform's own jobs (`runOn`): no one asked for the answer, so it earns a node no trust. */
  own?: boolean;
}

interface Pace {
  nodeId: string;
  /** From the offer to the first output, and to the last. */
  ttftMs: number;
  spanMs: number;
  /** The time the output took. */
  outputMs: number;
}

/** An answer that ended well, as the gateway timed and counted it. */
export interface Measured {
  nodeId: string;
  model: string;
  tokens: TokenCounts;
  /** From the offer to the last output: no honest node can have had less time than this. */
  spanMs: number;
  /** One of the platform's own jobs. */
  own: boolean;
  /** The builder's request that it answers. Absent: no one asked. */
  request?: AnsweredRequest | undefined;
}

/** What a request looked like from outside. */
export interface AnsweredRequest {
  accountId: string;
  endpoint: Endpoint;
  stream: boolean;
  outputTokensMax: number;
  /** Undefined: left to the engine. */
  temperature: number | undefined;
  /** An output format was asked for. */
  formatted: boolean;
}

interface TokenCounts {
  prompt: number;
  output: number;
}

export interface Dispatcher {
  run(order: DispatchOrder, sink: DispatchSink, signal: CancelSignal): Promise<DispatchResult>;
  /**
   * The same on one node and no other, whether or not it is busy; undefined when it is not connected or does not serve the
   * model.
   */
  runOn(
    nodeId: string,
    order: DispatchOrder,
    sink: DispatchSink,
    signal: CancelSignal,
  ): Promise<DispatchResult | undefined>;
  /** Tells how many tokens an answer that ended well had, so that its node's speed is known. */
  measured(model: string, result: DispatchResult, tokens: TokenCounts, request?: AnsweredRequest): void;
  onMeasured(run: (measured: Measured) => void): void;
  /** `run` hears how every attempt of every request ended; of an empty one, once a second opinion is known or will not be. */
  onAttempt(run: (attempt: Attempt) => void): void;
  /** `run` hears that the plane, and not the node, was why the node seemed silent since then (monotonic milliseconds). */
  onExcused(run: (nodeId: string, sinceMs: number) => void): void;
  /**
   * `run` hears of every offer that a node declined though the gateways' own count left it a slot (`busy`), or did not accept in
   * time while another could be asked (`late`).
   */
  onRefused(run: (nodeId: string, how: "busy" | "late") => void): void;
  /** One node's median speed for a model. */
  speedOfNode(nodeId: string, model: string): MedianSpeed;
  /** The model's median speed over the connected nodes that serve it. */
  speedOf(model: string): MedianSpeed;
  /** Whether a connected node serves the model with an engine that keeps to an output format. */
  keepsFormat(model: string): boolean;
  /** A keyword that keeps every node of the model from a schema with these; undefined when a node enforces all of them. */
  unkeptKeyword(model: string, keywords: readonly KeywordUse[]): KeywordUse | undefined;
  /** How many requests wait for a node of the model. */
  waiting(model: string): number;
  /** How many jobs the nodes that serve the model can run at once, or could a minute ago, as the gateway counts that saw the most. */
  slots(model: string): number;
  /** No node can be reached now. */
  readonly isAway: boolean;
  /** The plane, or nodes on it, could not be heard a moment ago. */
  readonly isTroubled: boolean;
  close(): void;
}

export function openDispatcher(options: {
  plane: Plane;
  roster: Roster;
  clock: Clock;
  log: Log;
  gatewayId: string;
  deadlineMs: number;
  /** A job that lasts longer ends as a stall, and no one is blamed for it. */
  jobMsMax?: number;
  /** The other gateways. Absent: there are none. */
  peers?: Pick<Peers, "exchange" | "slotsTold" | "gateways">;
}): Dispatcher {
  const { roster, clock, deadlineMs, peers } = options;
  const attemptListeners: ((attempt: Attempt) => void)[] = [];
  const measuredListeners: ((measured: Measured) => void)[] = [];
  const excusedListeners: ((nodeId: string, sinceMs: number) => void)[] = [];
  const refusedListeners: ((nodeId: string, how: "busy" | "late") => void)[] = [];
  const over = (attempt: Attempt): void => {
    // It says nothing about the node.
    if (attempt.unbuilt) return;
    if (hasFailed(attempt)) roster.failed(attempt.node, "failed");
    for (const run of attemptListeners) run(attempt);
  };
  const attempts = new Attempts({
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
  const speeds = new Speeds();
  const tellSpeed = peers?.exchange(speeds.topic((nodeId) => roster.find(nodeId) !== undefined));
  const ttftMs = (nodeId: string, model: string): number | null => speeds.ofNode(nodeId, model).ttftMs;
  const queue = new NodeQueue({ roster, clock, waitingMax: QUEUE_MAX, ttftMs });
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
      // The first token came before the clock of the rest started.
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
      // One that no one enforces says most; else no single node enforces all.
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
  attempts: Attempts;
  queue: NodeQueue;
  roster: Roster;
  clock: Clock;
  /** Every attempt passes here once it is over and judged. */
  over: (attempt: Attempt) => void;
  order: DispatchOrder;
  sink: DispatchSink;
  signal: CancelSignal;
  deadlineMs: number;
}

class Run {
  readonly #o: RunOptions;
  readonly #startedAt: number;
  /** Nodes that had their turn with this request: not asked again. */
  readonly #tried = new Set<string>();
  /** Nodes that declined it just now: asked again later. */
  readonly #declined = new Set<string>();
  /** Nodes that ever declined it: it counts against them once. */
  readonly #refusedBy = new Set<string>();
  /** Nodes that fell silent with this request. */
  readonly #silent = new Set<string>();
  /** Whether the first silence counts against its node. */
  #isSilenceJudged = false;
  readonly #need: Need;
  /** The platform's own jobs are one account's. */
  readonly #account: string;
  #accepted = 0;
  /** How long its nodes read the prompt so far. */
  #readMs = 0;
  /** Until when a node has to be found. */
  #deadline: number;
  /** When the plane first lost what ran. */
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
    /** The attempt that used the retry: it stopped responding or returned nothing. */
    let first: Attempt | undefined;
    /** The last one that the plane cut. */
    let cut: Attempt | undefined;
    for (let number = 1; number <= OFFERS_MAX; number++) {
      const turn = await this.#nextNode(first);
      if (turn.kind === "cancelled") return this.#result("cancelled", undefined, first);
      // A retry that finds no other node leaves the first attempt as the request's ending.
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
      // It may be the request that does it to them.
      if (this.#silent.size >= SILENT_NODES_MAX && end === "declined") return this.#result("quiet", first ?? attempt);
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
        // The retry is spent: no one is left to confirm that there is no output.
        return this.#result(end === "empty" ? "unconfirmed" : endOf(attempt), attempt, attempt);
      }
    }
    if (first?.state === "empty") return this.#result("unconfirmed", first, first);
    if (first !== undefined && !this.#hasOtherHosts(first)) this.#judgeSilence(first);
    if (cut !== undefined) return this.#result("cut", cut);
    return first === undefined ? this.#result("no_capacity", undefined) : this.#result("quiet", first);
  }

  /**
   * A node may have fallen silent because of the request. It is blamed once another node has output for the same request, or where no
   * other host serves the model. When another host's node falls silent as well, neither is.
   */
  #judge(attempt: Attempt, first: Attempt | undefined, isRetried: boolean): void {
    const { state } = attempt;
    // An empty one is judged with the second opinion.
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

  /** Whether a node of another host could answer, be it busy. */
  #hasOtherHosts({ node }: Attempt): boolean {
    return this.#o.roster.serves(this.#need, this.#kinOf(node));
  }

  #kinOf({ nodeRecord: { hostAccountId } }: Attempt["node"]): Set<string> {
    const kin = this.#o.roster.nodes().filter(({ nodeRecord }) => nodeRecord.hostAccountId === hostAccountId);
    return new Set(kin.map(({ id }) => id));
  }

  #note({ acceptedAt, firstOutputAt, aliveAt, failure, node }: Attempt): void {
    if (acceptedAt !== null) {
      this.#accepted += 1;
      this.#readMs += (firstOutputAt ?? aliveAt) - acceptedAt;
    }
    if (failure === "silent" || failure === "lost") this.#silent.add(node.id);
  }

  /** Whether a node is free that could be asked in place of this one. */
  #couldAskAnother({ id }: { id: string }, first: Attempt | undefined): boolean {
    const excluded = new Set([id]).union(this.#declined).union(this.#ruledOut(first));
    return this.#o.roster.pick(this.#need, excluded, () => null) !== undefined;
  }

  /**
   * After the plane lost an attempt. What is tried then is accepted within the dispatch deadline, counted from the loss of what
   * ran; losses that follow each other are one outage, and do not add up.
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
    const opinion = decideOpinion({ ...second, hadOutput: second.firstOutputAt !== null });
    if (opinion === "refuted") first.failure = "miss";
    if (opinion === "shared") this.#o.over(second);
    return opinion === "none" ? this.#result("unconfirmed", first, first) : this.#result(endOf(second), second, first);
  }

  #nextNode(first: Attempt | undefined): Promise<Turn> {
    return this.#o.queue.wait(this.#need, {
      account: this.#account,
      excluded: this.#ruledOut(first),
      declined: this.#declined,
      deadline: this.#deadline,
      signal: this.#o.signal,
    });
  }

  /** A second node is another host's where there is one: a host must not confirm its own empty answers, nor excuse its silences. */
  #ruledOut(first: Attempt | undefined): Set<string> {
    if (first === undefined) return this.#tried;
    const all = this.#tried.union(this.#kinOf(first.node));
    return this.#o.roster.serves(this.#need, all) ? all : this.#tried;
  }

  /** `unjudged`: an empty attempt that is judged by now. */
  #result(end: DispatchResult["end"], attempt: Attempt | undefined, unjudged?: Attempt): DispatchResult {
    if (unjudged?.state === "empty") this.#o.over(unjudged);
    return resultOf(end, attempt, { startedAt: this.#startedAt, accepted: this.#accepted });
  }
}

const needOf = (model: string, keywords: readonly KeywordUse[]): Need => ({
  model,
  formatted: true,
  keywords: keywords.map(({ needs }) => needs),
});

/** Whether it is asked last for it. A builder can bring about misses, and refusals of a prompt before there is output. */
function hasFailed({ state, failure, firstOutputAt }: Attempt): boolean {
  if (failure === null || state === "cancelled" || state === "cut") return false;
  return failure === "prompt" ? firstOutputAt !== null : failure !== "miss";
}

/** How an attempt that is the request's last ends the request. */
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
    // What is not streamed comes in few large pieces: the first of them took its time, too.
    outputMs: lastOutputAt - (stream ? firstOutputAt : acceptedAt),
  };
}
