/**
 * Attempts under way: sends a job to a node, listens to what the node says of it, watches the clock, and reports how the
 * attempt ended. The rules are the table in attempt.ts; here they meet the plane.
 */
import { decode, encode, encodeApart, FrameError } from "@tollgate/protocol/codec.ts";
import type { Channel, Delta, Endpoint, Frame, JobBody, JobHeader, TimedDelta } from "@tollgate/protocol/frames.ts";
import { cutJob } from "@tollgate/protocol/jobs.ts";
import { gatewayInbox, senderOf, toNode } from "@tollgate/protocol/subjects.ts";
import type { Clock } from "../base/clock.ts";
import type { Gone } from "../base/gone.ts";
import type { Log } from "../base/log.ts";
import { PassingMap } from "../base/passing.ts";
import { type SparingLog, sparingLog } from "../base/sparing-log.ts";
import type { Plane } from "../plane/plane.ts";
import { type AttemptEnd, type AttemptEvent, type AttemptState, advance, isOver } from "./attempt.ts";
import { Excuses } from "./excuses.ts";
import { idleCost } from "./frame-rates.ts";
import type { Roster, RosterNode } from "./roster.ts";
import { hearOutput, hearProgress, type OwnTimes } from "./silence.ts";
import { watch } from "./watch.ts";

export interface DispatchOrder {
  /** The request's 26 characters. */
  request: string;
  header: Pick<JobHeader, "model" | "endpoint" | "stream" | "output_tokens_max" | "sampling">;
  /** Encoded where that was done already. */
  body: JobBody | Uint8Array;
  /** The body asks for an output format. Absent: it does not. */
  formatted?: boolean;
  /**
   * Whose request it is and how long its prompt: whether a node that refuses a prompt is to blame depends on it. Absent for
   * the platform's own jobs.
   */
  origin?: { accountId: string; promptTokens: number };
}

/**
 * Where output goes. `enough` stops the node, and so does `empty`: what comes is not wanted, and nothing came before it.
 * `broken` says that the node gave what nobody asked for.
 */
export interface DispatchSink {
  /** A node accepted: what an earlier attempt gave is void. Never called after output reached the client. */
  begin(): void;
  delta(channel: Channel, text: string): "more" | "enough" | "empty" | "broken";
  vectors(first: number, width: number, values: Float32Array): "more" | "broken";
  /**
   * The node is done, or was stopped because there is enough. Whether there was one token of output or more; `broken` when
   * the node owes something.
   */
  finished(): "answered" | "empty" | "broken";
  /** Whether any output has reached the client, so that another attempt would mix two answers. */
  readonly reachedClient: boolean;
}

/**
 * What kept an attempt from ending well, as the gateway saw it: the node reported a fault of its engine, of its agent or
 * of the prompt; it broke the protocol; it fell silent; its connection dropped; or it said that there is no output where
 * another node had some.
 */
export type Failure = "engine" | "agent" | "prompt" | "protocol" | "silent" | "lost" | "miss";

export interface Attempt {
  readonly job: string;
  readonly model: string;
  readonly endpoint: Endpoint;
  readonly stream: boolean;
  readonly origin: DispatchOrder["origin"];
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
  /** It ended well without one token of output. */
  blank: boolean;
  failure: Failure | null;
}

const FAILURES: Partial<Record<AttemptEvent, Failure>> = { quiet: "silent", lost: "lost", broken: "protocol" };

interface Live extends Attempt {
  readonly acceptBy: number;
  formatted: boolean;
  sink: DispatchSink;
  own: OwnTimes;
  stopTimer: () => void;
  over: (end: AttemptEnd) => void;
}

interface OffersOptions {
  plane: Plane;
  roster: Roster;
  clock: Clock;
  log: Log;
  gatewayId: string;
  /** A job that lasts longer ends. */
  jobMsMax: number;
  /** What a node failed since by falling silent turned out to be the plane's doing. */
  excused: (nodeId: string, sinceMs: number) => void;
}

/** How long an attempt that fell silent or was cut says that more may. */
const TROUBLED_MS = 10_000;
/** A piece of so many bytes is not copied to be sent. */
const APART_BYTES_MIN = 16 * 1024;
/** A node notices within this time that the server it is on hangs. */
const NOTICED_MS_MAX = 15_000;

export class Offers {
  readonly #options: OffersOptions;
  readonly #live = new PassingMap<string, Live>();
  readonly #unsubscribe: () => void;
  /** For lines that a node can cause as often as it likes. */
  readonly #log: SparingLog;
  readonly #excuses = new Excuses();
  /** The nodes that fell silent, and when they did last. */
  readonly #silent = new Map<string, { node: RosterNode; at: number }>();
  #troubledAt = Number.NEGATIVE_INFINITY;
  /** Cut while the plane was away: nodes that did not notice still run them. */
  #unstopped: Attempt[] = [];

  constructor(options: OffersOptions) {
    this.#options = options;
    this.#log = sparingLog(options.log, options.clock);
    this.#unsubscribe = options.plane.subscribe(gatewayInbox(options.gatewayId), (subject, payload) =>
      this.#hear(senderOf(subject), payload),
    );
    const { plane, roster, clock } = options;
    roster.onGone((nodeId, by) => {
      const now = clock.monotonic();
      this.#silent.delete(nodeId);
      for (const attempt of this.#of(nodeId)) {
        if (by === "plane" && this.#believes(attempt, now)) this.#step(attempt, "cut");
        else this.#orCut(attempt, "lost");
      }
    });
    roster.onState((nodeId, { busy }) => {
      // A node that lost its connection has dropped what it ran, and says so first.
      if (busy === 0 && plane.movedAt(nodeId) !== undefined) this.#moved(nodeId, plane.movedAt(nodeId) as number);
    });
    plane.onAway(() => {
      this.#excuses.away(clock.monotonic());
      for (const attempt of this.#live.all()) this.#step(attempt, "cut");
    });
    plane.onBack(() => {
      for (const attempt of this.#unstopped) this.#stop(attempt);
      this.#unstopped = [];
    });
  }

  /** Offers the job to the node as the request's `number`-th try; resolves when the attempt is over. */
  make(
    order: DispatchOrder,
    number: number,
    node: RosterNode,
    sink: DispatchSink,
    { signal, acceptBy = Number.POSITIVE_INFINITY }: { signal: Gone; acceptBy?: number | undefined },
  ): Promise<Attempt> {
    const { plane, roster, clock } = this.#options;
    const job = `${order.request}-${String(number).padStart(2, "0")}`;
    const frames = this.#framesOf(order, job, node);
    return new Promise((resolve) => {
      const onAbort = (): void => this.#step(attempt, "cancel");
      const attempt: Live = {
        job,
        model: order.header.model,
        endpoint: order.header.endpoint,
        stream: order.header.stream,
        origin: order.origin,
        node,
        offeredAt: clock.monotonic(),
        acceptBy,
        state: "offered",
        seq: 0,
        acceptedAt: null,
        firstOutputAt: null,
        lastOutputAt: null,
        aliveAt: clock.monotonic(),
        finish: null,
        enough: false,
        blank: false,
        failure: null,
        formatted: order.formatted ?? false,
        sink,
        own: { toldMs: 0, aliveMs: 0 },
        stopTimer: () => {},
        over: (end) => {
          this.#live.delete(attempt.job);
          attempt.stopTimer();
          signal.removeEventListener("abort", onAbort);
          if (end === "cut" && plane.health.isAway) this.#unstopped.push(attempt);
          else if (end !== "finished" && end !== "empty" && end !== "lost") this.#stop(attempt);
          if (end === "cut" || attempt.failure === "silent") this.#troubledAt = clock.monotonic();
          if (end === "cut" && !plane.reaches(node.id)) roster.shun(node);
          if (attempt.failure === "silent") {
            roster.shun(node);
            this.#silent.set(node.id, { node, at: clock.monotonic() });
          }
          if (end === "finished") node.shunnedUntil = 0;
          roster.ended(node);
          resolve(attempt);
        },
      };
      this.#live.add(attempt.job, attempt);
      signal.addEventListener("abort", onAbort);
      for (const frame of frames) plane.publish(toNode(node.id), ...frame);
      attempt.stopTimer = watch(attempt, {
        clock,
        jobMsMax: this.#options.jobMsMax,
        passed: (event) => (event === "quiet" ? this.#orCut(attempt, event) : this.#step(attempt, event)),
      });
      if (signal.aborted) onAbort();
    });
  }

  get isTroubled(): boolean {
    return !this.#options.plane.hears || this.#options.clock.monotonic() - this.#troubledAt < TROUBLED_MS;
  }

  close(): void {
    this.#unsubscribe();
  }

  /** Before anything is registered: an order that cannot be encoded leaves nothing behind. */
  #framesOf({ header, body }: DispatchOrder, job: string, node: RosterNode): [head: Uint8Array, rest?: Uint8Array][] {
    try {
      return cutJob({ ...header, times: true, job, gateway: this.#options.gatewayId }, body).map((frame) =>
        frame.piece.length < APART_BYTES_MIN ? [encode(frame)] : encodeApart(frame),
      );
    } catch (error) {
      this.#options.roster.ended(node);
      throw error;
    }
  }

  #hear(nodeId: string | undefined, payload: Uint8Array): void {
    const { rates } = this.#options.roster;
    if (nodeId === undefined || !rates.listensTo(nodeId)) return;
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
      for (const attempt of this.#of(nodeId)) this.#step(attempt, "broken");
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
    if (frame.kind === "deltas" || frame.kind === "timed") {
      for (const delta of frame.deltas) this.#delta(nodeId, delta);
    } else if (frame.kind === "vectors") {
      const { job, seq, first, width, values } = frame;
      const attempt = this.#own(nodeId, job);
      if (attempt !== undefined && this.#inOrder(attempt, seq))
        this.#output(attempt, undefined, (sink) => sink.vectors(first, width, values));
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
        hearProgress(attempt, now);
        this.#step(attempt, "progress");
        break;
      case "done":
        attempt.finish = frame.finish;
        if (this.#inOrder(attempt, frame.seq)) this.#done(attempt);
        break;
      case "failed": {
        const { job, cause } = frame;
        const { id } = attempt.node;
        // The cause alone: what a node says in its message may be a prompt.
        this.#log.info(id, { node: id, job, cause }, "a node failed a job");
        if (this.#inOrder(attempt, frame.seq)) {
          // No engine takes every schema, and a builder must not have nodes barred with one.
          attempt.failure = attempt.formatted && cause === "engine" ? "prompt" : cause;
          this.#step(attempt, "fail");
        }
        break;
      }
      default:
        // A kind that only gateways send.
        this.#step(attempt, "broken");
    }
  }

  /** Done is what a node says; whether there is an answer, the sink knows. */
  #done(attempt: Live): void {
    const output = attempt.state === "offered" ? "broken" : attempt.sink.finished();
    attempt.blank = output === "empty";
    this.#step(attempt, output === "answered" ? "done" : output);
  }

  #delta(nodeId: string, delta: Delta | TimedDelta): void {
    const attempt = this.#own(nodeId, delta.job);
    if (attempt === undefined || !this.#inOrder(attempt, delta.seq)) return;
    // Without text it is neither output nor a sign of life.
    if (delta.text === "" && attempt.acceptedAt !== null) return;
    const times = "firstMs" in delta ? delta : undefined;
    this.#output(attempt, times, (sink) => sink.delta(delta.channel, delta.text));
  }

  #output(
    attempt: Live,
    times: TimedDelta | undefined,
    take: (sink: DispatchSink) => ReturnType<DispatchSink["delta"]>,
  ): void {
    const now = this.#options.clock.monotonic();
    this.#step(attempt, hearOutput(attempt, times, now));
    if (isOver(attempt.state)) return;
    attempt.aliveAt = now;
    attempt.firstOutputAt ??= now;
    attempt.lastOutputAt = now;
    const answer = take(attempt.sink);
    if (answer === "broken") this.#step(attempt, "broken");
    if (answer === "empty") {
      attempt.finish = "stop";
      attempt.blank = true;
      this.#stop(attempt);
      this.#step(attempt, "empty");
    }
    if (answer === "enough") {
      attempt.enough = true;
      attempt.blank = attempt.sink.finished() === "empty";
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
    this.#orCut(attempt, "broken");
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

  #moved(nodeId: string, movedAt: number): void {
    for (const attempt of this.#of(nodeId)) if (this.#hasMoved(attempt)) this.#orCut(attempt, "lost");
    const silent = this.#silent.get(nodeId);
    this.#silent.delete(nodeId);
    if (silent === undefined || movedAt - silent.at > NOTICED_MS_MAX) return;
    if (this.#believes(silent, movedAt)) this.#options.excused(nodeId, movedAt - NOTICED_MS_MAX);
  }

  /** What looks like the node's fault, unless the plane may have lost it. */
  #orCut(attempt: Live, event: "quiet" | "broken" | "lost"): void {
    this.#step(attempt, this.#isExcused(attempt) ? "cut" : event);
  }

  #isExcused(attempt: Live): boolean {
    const { plane } = this.#options;
    if (!plane.hears || !plane.reaches(attempt.node.id)) return true;
    if (this.#options.roster.ownStops.wasStopped) return true;
    return this.#hasMoved(attempt) && this.#believes(attempt, plane.movedAt(attempt.node.id) as number);
  }

  /** The node connected anew while it ran this, and the plane heard of no end of its former connection. */
  #hasMoved({ node, offeredAt }: Live): boolean {
    const movedAt = this.#options.plane.movedAt(node.id);
    return movedAt !== undefined && offeredAt <= movedAt;
  }

  #believes({ node }: { node: RosterNode }, incidentAt: number): boolean {
    const who = { nodeId: node.id, hostId: node.licence.hostAccountId };
    return this.#excuses.believes(who, incidentAt, this.#options.clock.monotonic());
  }

  #of(nodeId: string): Live[] {
    return this.#live.all().filter(({ node }) => node.id === nodeId);
  }

  #stop(attempt: Attempt): void {
    this.#options.plane.publish(toNode(attempt.node.id), encode({ kind: "cancel", job: attempt.job }));
  }
}
