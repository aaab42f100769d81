/**
 * Attempts under way: sends a job to a node, listens to what the node says of it, watches the clock, and reports how the
 * attempt ended. The rules are the table in attempt.ts; here they meet the plane.
 */
import { decode, encode, FrameError } from "@tollgate/protocol/codec.ts";
import type { Channel, Frame, JobBody, JobHeader } from "@tollgate/protocol/frames.ts";
import { cutJob } from "@tollgate/protocol/jobs.ts";
import { gatewayInbox, senderOf, toNode } from "@tollgate/protocol/subjects.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { type SparingLog, sparingLog } from "../base/sparing-log.ts";
import { type AttemptEnd, type AttemptEvent, type AttemptState, advance, isOver } from "./attempt.ts";
import { idleCost } from "./frame-rates.ts";
import type { Plane } from "./plane.ts";
import type { Roster, RosterNode } from "./roster.ts";

/** A node may be quiet for this long after it accepted; it has as long to accept. */
export const QUIET_MAX_MS = 2_000;
/** Reading a long prompt counts as a sign of life for at most this long. */
const PREFILL_MAX_MS = 60_000;

export interface DispatchOrder {
  /** The request's 26 characters. */
  request: string;
  header: Pick<JobHeader, "model" | "endpoint" | "stream" | "output_tokens_max" | "sampling">;
  body: JobBody;
}

/** Where output goes. `enough` stops the node; `broken` says that the node gave what nobody asked for. */
export interface DispatchSink {
  /** A node accepted: what an earlier attempt gave is void. Never called after output reached the client. */
  begin(): void;
  delta(channel: Channel, text: string): "more" | "enough";
  vectors(first: number, width: number, values: Float32Array): "more" | "broken";
  /** Whether any output has reached the client, so that another attempt would mix two answers. */
  readonly reachedClient: boolean;
}

/**
 * What kept an attempt from ending well, as the gateway saw it: the node reported a fault of its engine, of its agent or
 * of the prompt; it broke the protocol; it fell silent; or its connection dropped.
 */
export type Failure = "engine" | "agent" | "prompt" | "protocol" | "silent" | "lost";

export interface Attempt {
  readonly job: string;
  readonly model: string;
  readonly stream: boolean;
  readonly node: RosterNode;
  readonly offeredAt: number;
  state: AttemptState;
  /** The number that the node's next output must carry. */
  seq: number;
  acceptedAt: number | null;
  firstOutputAt: number | null;
  lastOutputAt: number | null;
  aliveAt: number;
  finish: "stop" | "length" | null;
  /** The sink had what it wanted, and the node was stopped for that. */
  enough: boolean;
  failure: Failure | null;
}

const FAILURES: Partial<Record<AttemptEvent, Failure>> = { quiet: "silent", lost: "lost", broken: "protocol" };

interface Live extends Attempt {
  sink: DispatchSink;
  stopTimer: () => void;
  over: (end: AttemptEnd) => void;
}

export interface OffersOptions {
  plane: Plane;
  roster: Roster;
  clock: Clock;
  log: Log;
  gatewayId: string;
  /** Every attempt passes here when it is over. */
  over: (attempt: Attempt) => void;
}

export class Offers {
  readonly #options: OffersOptions;
  readonly #live = new Map<string, Live>();
  readonly #unsubscribe: () => void;
  /** For lines that a node can cause as often as it likes. */
  readonly #log: SparingLog;

  constructor(options: OffersOptions) {
    this.#options = options;
    this.#log = sparingLog(options.log, options.clock);
    this.#unsubscribe = options.plane.subscribe(gatewayInbox(options.gatewayId), (subject, payload) =>
      this.#hear(senderOf(subject), payload),
    );
    options.roster.onGone((nodeId) => this.#eachOf(nodeId, "lost"));
  }

  /** Offers the job to the node as the request's `number`-th try; resolves when the attempt is over. */
  make(
    order: DispatchOrder,
    number: number,
    node: RosterNode,
    sink: DispatchSink,
    signal: AbortSignal,
  ): Promise<Attempt> {
    const { plane, roster, clock } = this.#options;
    const job = `${order.request}-${String(number).padStart(2, "0")}`;
    const frames = this.#framesOf(order, job, node);
    return new Promise((resolve) => {
      const onAbort = (): void => this.#step(attempt, "cancel");
      const attempt: Live = {
        job,
        model: order.header.model,
        stream: order.header.stream,
        node,
        offeredAt: clock.monotonic(),
        state: "offered",
        seq: 0,
        acceptedAt: null,
        firstOutputAt: null,
        lastOutputAt: null,
        aliveAt: clock.monotonic(),
        finish: null,
        enough: false,
        failure: null,
        sink,
        stopTimer: () => {},
        over: (end) => {
          this.#live.delete(attempt.job);
          attempt.stopTimer();
          signal.removeEventListener("abort", onAbort);
          if (end !== "finished" && end !== "lost") this.#stop(attempt);
          if (attempt.failure === "silent") roster.shun(node);
          else if (end === "finished") node.shunnedUntil = 0;
          roster.ended(node);
          this.#options.over(attempt);
          resolve(attempt);
        },
      };
      this.#live.set(attempt.job, attempt);
      signal.addEventListener("abort", onAbort);
      for (const frame of frames) plane.publish(toNode(node.id), frame);
      this.#watch(attempt, QUIET_MAX_MS);
    });
  }

  close(): void {
    this.#unsubscribe();
  }

  /** Before anything is registered: an order that cannot be encoded leaves nothing behind. */
  #framesOf({ header, body }: DispatchOrder, job: string, node: RosterNode): Uint8Array[] {
    try {
      return cutJob({ ...header, job, gateway: this.#options.gatewayId }, body).map((frame) => encode(frame));
    } catch (error) {
      this.#options.roster.ended(node);
      throw error;
    }
  }

  #hear(nodeId: string | undefined, payload: Uint8Array): void {
    const { rates } = this.#options.roster;
    if (nodeId === undefined || !rates.hears(nodeId)) return;
    try {
      const frame = decode(payload);
      const cost = idleCost(payload.length, "deltas" in frame ? frame.deltas.length : 0);
      if (this.#isIdle(nodeId, frame) && !rates.count(nodeId, "idle", cost)) return;
      this.#receive(nodeId, frame);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      // What a node says cannot be trusted in part: everything it runs for this gateway fails. The log gets the message
      // alone, because a cause could quote what the node sent.
      this.#log.warn(nodeId, { node: nodeId, why: error.message }, "a node sent a malformed frame");
      this.#eachOf(nodeId, "broken");
      rates.count(nodeId, "malformed");
    }
  }

  /** Whether the frame moves no job on that this node runs for this gateway. */
  #isIdle(nodeId: string, frame: Frame): boolean {
    if ("deltas" in frame) {
      return !frame.deltas.some(({ job, text }) => text !== "" && this.#own(nodeId, job) !== undefined);
    }
    return frame.kind === "progress" || !("job" in frame) || this.#own(nodeId, frame.job) === undefined;
  }

  #receive(nodeId: string, frame: Frame): void {
    if (frame.kind === "deltas") {
      for (const { job, seq, channel, text } of frame.deltas) {
        this.#output(nodeId, job, seq, (sink) => sink.delta(channel, text));
      }
    } else if (frame.kind === "vectors") {
      const { job, seq, first, width, values } = frame;
      this.#output(nodeId, job, seq, (sink) => sink.vectors(first, width, values));
    } else if ("job" in frame) {
      const attempt = this.#own(nodeId, frame.job);
      if (attempt !== undefined) this.#control(attempt, frame);
    }
  }

  #control(attempt: Live, frame: Extract<Frame, { job: string }>): void {
    const now = this.#options.clock.monotonic();
    switch (frame.kind) {
      case "accepted":
        attempt.acceptedAt = now;
        attempt.aliveAt = now;
        if (attempt.state === "offered") attempt.sink.begin();
        this.#step(attempt, "accept");
        break;
      case "busy":
        this.#step(attempt, "busy");
        break;
      case "progress":
        if (
          attempt.acceptedAt !== null &&
          now - attempt.acceptedAt < PREFILL_MAX_MS &&
          attempt.firstOutputAt === null
        ) {
          attempt.aliveAt = now;
        }
        this.#step(attempt, "progress");
        break;
      case "done":
        attempt.finish = frame.finish;
        if (this.#inOrder(attempt, frame.seq)) this.#step(attempt, "done");
        break;
      case "failed": {
        const { job, cause, message } = frame;
        const { id } = attempt.node;
        this.#log.info(id, { node: id, job, cause, detail: message }, "a node failed a job");
        if (this.#inOrder(attempt, frame.seq)) {
          attempt.failure = cause;
          this.#step(attempt, "fail");
        }
        break;
      }
      default:
        // A kind that only gateways send.
        this.#step(attempt, "broken");
    }
  }

  #output(nodeId: string, job: string, seq: number, take: (sink: DispatchSink) => "more" | "enough" | "broken"): void {
    const attempt = this.#own(nodeId, job);
    if (attempt === undefined || !this.#inOrder(attempt, seq)) return;
    this.#step(attempt, "output");
    if (isOver(attempt.state)) return;
    attempt.aliveAt = this.#options.clock.monotonic();
    attempt.firstOutputAt ??= attempt.aliveAt;
    attempt.lastOutputAt = attempt.aliveAt;
    const answer = take(attempt.sink);
    if (answer === "broken") this.#step(attempt, "broken");
    if (answer === "enough") {
      attempt.enough = true;
      this.#step(attempt, "cancel");
    }
  }

  /** Late frames of an attempt that is over, and frames about another node's job, mean nothing. */
  #own(nodeId: string, job: string): Live | undefined {
    const attempt = this.#live.get(job);
    return attempt?.node.id === nodeId ? attempt : undefined;
  }

  #inOrder(attempt: Live, seq: number): boolean {
    if (seq === attempt.seq) {
      attempt.seq += 1;
      return true;
    }
    const { node, job, seq: due } = attempt;
    this.#log.warn(node.id, { node: node.id, job, seq, due }, "a node's output has a gap");
    this.#step(attempt, "broken");
    return false;
  }

  #step(attempt: Live, event: AttemptEvent): void {
    if (isOver(attempt.state)) return;
    // An event that the protocol does not allow now breaks the attempt; every state allows "broken".
    const next = advance(attempt.state, event);
    attempt.state = next ?? (advance(attempt.state, "broken") as AttemptState);
    attempt.failure ??= next === undefined ? "protocol" : (FAILURES[event] ?? null);
    if (isOver(attempt.state)) attempt.over(attempt.state);
  }

  #eachOf(nodeId: string, event: AttemptEvent): void {
    for (const attempt of [...this.#live.values()]) if (attempt.node.id === nodeId) this.#step(attempt, event);
  }

  /** One timer per attempt that looks again when the node has spoken meanwhile, instead of one per frame. */
  #watch(attempt: Live, waitMs: number): void {
    const { clock } = this.#options;
    attempt.stopTimer = clock.after(waitMs, () => {
      const leftMs = attempt.aliveAt + QUIET_MAX_MS - clock.monotonic();
      if (leftMs > 0) this.#watch(attempt, leftMs);
      else this.#step(attempt, "quiet");
    });
  }

  #stop(attempt: Attempt): void {
    this.#options.plane.publish(toNode(attempt.node.id), encode({ kind: "cancel", job: attempt.job }));
  }
}
