/**
 * Attempts in flight: sends a job to a node, watches its deadlines, and reports how the attempt ended.
 * attempt-frames.ts reads the node's frames, and attempt-state-machine.ts has the rules as a table.
 */
import { encodeFrame, encodeJobInParts } from "@tollgate/protocol/frame-codec.ts";
import { splitJob } from "@tollgate/protocol/job-splitting.ts";
import { gatewayInboxSubject, nodeSubject, parseSendingNode } from "@tollgate/protocol/nats-subjects.ts";
import type { CancelSignal } from "../base/cancel-signal.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import {
  ACCEPT_MS_MAX,
  computePromptReadMsMax,
  computePromptStallMsMax,
  PREFILL_MS_MAX,
  SLOW_STREAM,
} from "../base/node-trust-thresholds.ts";
import type { AttemptEnd } from "../base/stored-enumerations.ts";
import type { DispatchPlane } from "../plane/plane.ts";
import { AttemptBlame } from "./attempt-blame.ts";
import { watchAttemptDeadline } from "./attempt-deadline.ts";
import { AttemptFrames } from "./attempt-frames.ts";
import type { DispatchRequest, DispatchSink } from "./dispatch-request.ts";
import { postponeLatenessCheck } from "./node-silence.ts";
import type { Roster } from "./roster.ts";
import type { RosterNode } from "./roster-node.ts";
import { type Attempt, applyEvent, type RunningAttempt, RunningAttempts } from "./running-attempt.ts";

interface AttemptsOptions {
  plane: DispatchPlane;
  roster: Roster;
  clock: Clock;
  log: Log;
  gatewayId: string;
  /** The longest time that a job may take. */
  jobMsMax: number;
  /** Called when the dispatch plane, and not the node, caused the node's failures since `sinceMs`. */
  excused: (nodeId: string, sinceMs: number) => void;
  /** Called when a node declined an offer although it had a free slot by the gateways' counts, or accepted too late. */
  refused: (nodeId: string, how: "busy" | "late") => void;
  /** The number of gateways that send jobs to these nodes, including this one. */
  gateways: () => number;
  /**
   * The usual time in milliseconds in which nodes with this model read a prompt of this length; null if not measured.
   */
  readMs: (model: string, promptTokens: number) => number | null;
}

/** The options of one attempt. */
interface AttemptOptions {
  signal: CancelSignal;
  /** The deadline by which some node must accept the request. Undefined: none. */
  acceptBy?: number | undefined;
  /** Whether another node could be asked now instead of a late one. Undefined: no. */
  mayPassOver?: () => boolean;
  /** Whether the node declined this request before. Repeated refusals of one request count once. */
  refusedBefore?: boolean;
  /** How long progress counts as a sign of life. */
  prefillMsMax?: number;
  /** Called at the first output. */
  began?: () => void;
  /** Called when the attempt has ended, before its slot is released. */
  ending?: () => void;
}

type Payload = [head: Uint8Array, rest?: Uint8Array];

/**
 * How long to wait before a refusal counts against a node: by then, other gateways have reported the jobs that they had
 * sent to the node.
 */
const TOLD_MS_MAX = 1_000;

/** How long the dispatch plane counts as troubled after one silent or cut attempt. */
const TROUBLED_MS = 10_000;
/** Frames with a payload of at least this size are sent without copying the payload. */
const APART_BYTES_MIN = 16 * 1024;

export class AttemptRunner {
  readonly #options: AttemptsOptions;
  readonly #running = new RunningAttempts();
  readonly #blame: AttemptBlame;
  readonly #unsubscribe: () => void;
  #troubledAt = Number.NEGATIVE_INFINITY;
  /**
   * Attempts cut while the dispatch plane was unreachable. They are cancelled later, because nodes that did not notice
   * still run them.
   */
  #uncancelled: Attempt[] = [];

  constructor(options: AttemptsOptions) {
    this.#options = options;
    const { plane, roster, clock, log, gatewayId } = options;
    const running = this.#running;
    const blame = new AttemptBlame(options);
    this.#blame = blame;
    const accepted = ({ node, rest }: RunningAttempt): void => {
      for (const frame of rest) plane.publish(nodeSubject(node.id), ...frame);
    };
    const frames = new AttemptFrames({ running, blame, rates: roster.rates, clock, log, accepted });
    this.#unsubscribe = plane.subscribe(gatewayInboxSubject(gatewayId), (subject, payload) =>
      frames.hear(parseSendingNode(subject), payload),
    );
    roster.onGone((nodeId, by) => blame.gone(nodeId, by, running.on(nodeId)));
    roster.onState((nodeId, { busy }) => {
      // A node that lost its connection drops its jobs, and then reports that it has none. While it still reports jobs,
      // its attempts go on.
      const movedAt = busy === 0 ? plane.movedAt(nodeId) : undefined;
      if (movedAt !== undefined) blame.moved(nodeId, movedAt, running.on(nodeId));
    });
    plane.onAway(() => {
      for (const attempt of running.all()) applyEvent(attempt, "cut");
    });
    plane.onBack(() => {
      for (const attempt of this.#uncancelled) this.#cancel(attempt);
      this.#uncancelled = [];
    });
  }

  /** Offers the job to the node, as attempt number `number` of the request. Resolves when the attempt has ended. */
  run(
    order: DispatchRequest,
    number: number,
    node: RosterNode,
    sink: DispatchSink,
    options: AttemptOptions,
  ): Promise<Attempt> {
    const { signal, acceptBy = Number.POSITIVE_INFINITY, mayPassOver, prefillMsMax = PREFILL_MS_MAX } = options;
    const { ending = () => {} } = options;
    const { plane, clock, jobMsMax } = this.#options;
    const job = `${order.request}-${String(number).padStart(2, "0")}`;
    const later = !node.inGoodStanding && node.acceptsEarly;
    const frames = this.#framesOf(order, job, { node, later, ending });
    const [now, rest] = later ? [frames.slice(0, 1), frames.slice(1)] : [frames, []];
    return new Promise((resolve) => {
      const onAbort = (): void => applyEvent(attempt, "cancel");
      const attempt: RunningAttempt = {
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
        unbuilt: false,
        refusal: null,
        formatted: order.formatted ?? false,
        sink,
        rest,
        began: options.began ?? (() => {}),
        own: { toldMs: 0, aliveMs: 0 },
        lateAt: mayPassOver === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() + ACCEPT_MS_MAX,
        reading: {
          fraction: 0,
          grewAt: Number.NEGATIVE_INFINITY,
          msMax: prefillMsMax,
          stuckMsMax: computePromptStallMsMax(order.origin?.promptTokens ?? 0),
        },
        stopTimer: () => {},
        over: (end) => {
          this.#running.delete(attempt.job);
          attempt.stopTimer();
          signal.removeEventListener("abort", onAbort);
          ending();
          this.#ended(attempt, end);
          if (attempt.refusal !== null && options.refusedBefore !== true) this.#judge(node, attempt.refusal);
          resolve(attempt);
        },
      };
      this.#running.add(attempt.job, attempt);
      signal.addEventListener("abort", onAbort);
      for (const frame of now) plane.publish(nodeSubject(node.id), ...frame);
      attempt.stopTimer = watchAttemptDeadline(attempt, {
        clock,
        jobMsMax,
        passed: (event) => {
          if (event === "quiet") this.#blame.orCut(attempt, event);
          else if (event === "late" && (!this.#isOverdue(attempt) || mayPassOver?.() !== true))
            postponeLatenessCheck(attempt, clock.monotonic());
          else applyEvent(attempt, event);
        },
      });
      if (signal.aborted) onAbort();
    });
  }

  /** Whether the node did not accept in time, or accepted and has read the prompt for longer than allowed. */
  #isOverdue({ acceptedAt, endpoint, model, origin }: Attempt): boolean {
    if (acceptedAt === null) return true;
    if (endpoint === "embedding") return false;
    const { clock, readMs } = this.#options;
    const promptTokens = origin?.promptTokens ?? 0;
    return clock.monotonic() - acceptedAt >= computePromptReadMsMax(readMs(model, promptTokens), promptTokens);
  }

  get isTroubled(): boolean {
    return !this.#options.plane.hears || this.#options.clock.monotonic() - this.#troubledAt < TROUBLED_MS;
  }

  close(): void {
    this.#unsubscribe();
  }

  /**
   * Encodes the job's frames. Called before the attempt is registered, so that a job that cannot be encoded leaves no
   * state behind.
   */
  #framesOf(
    { header, body }: DispatchRequest,
    job: string,
    { node, later, ending }: { node: RosterNode; later: boolean; ending: () => void },
  ): Payload[] {
    try {
      const whole = { ...header, times: true, job, gateway: this.#options.gatewayId };
      return splitJob(whole, body, { later }).map((frame) =>
        frame.piece.length < APART_BYTES_MIN ? [encodeFrame(frame)] : encodeJobInParts(frame),
      );
    } catch (error) {
      ending();
      this.#options.roster.ended(node);
      throw error;
    }
  }

  /** Applies the consequences of the attempt's end to the node, and to the choice of the next node. */
  #ended(attempt: Attempt, end: AttemptEnd): void {
    const { plane, roster, clock } = this.#options;
    const { node } = attempt;
    const isSilent = attempt.failure === "silent";
    const isOver = end === "finished" || end === "empty" || end === "lost";
    if (end === "cut" && plane.health.isAway) this.#uncancelled.push(attempt);
    else if (!isOver) this.#cancel(attempt);
    if (end === "cut" || isSilent) this.#troubledAt = clock.monotonic();
    if (end === "cut" && !plane.reaches(node.id)) roster.shun(node);
    if (isSilent) this.#blame.fellSilent(node);
    if (hasCrawled(attempt)) roster.failed(node, "crawled");
    else if (end === "finished") roster.served(node);
    roster.ended(node, { cancelled: !isOver && attempt.refusal !== "busy" });
  }

  /** Counts a refusal against the node, unless trouble of this gateway or jobs of another gateway explain it. */
  #judge(node: RosterNode, how: "busy" | "late"): void {
    const { plane, roster, clock, refused, gateways } = this.#options;
    if (!plane.hears || !plane.reaches(node.id) || roster.processPauses.wasStopped) return;
    const { slots } = node;
    const own = roster.ownWorkOn(node.id);
    const judge = (): void => {
      if (how === "busy" && !roster.hadSlotFree(node.id, { own, slots })) return;
      roster.declined(node, how);
      refused(node.id, how);
    };
    // The offer may not have arrived. So the plane's server to which the node is connected must first answer a check,
    // because a frozen server is not noticed otherwise.
    if (how === "late") plane.whenProven(node.id, (isWell) => (isWell ? judge() : undefined));
    else if (gateways() === 1) judge();
    else clock.after(TOLD_MS_MAX, judge);
  }

  #cancel(attempt: Attempt): void {
    this.#options.plane.publish(nodeSubject(attempt.node.id), encodeFrame({ kind: "cancel", job: attempt.job }));
  }
}

/**
 * Whether the output came very slowly. This also applies to unstreamed output, because agents send it at least every
 * 200 ms.
 */
function hasCrawled({ seq, firstOutputAt, lastOutputAt }: Attempt): boolean {
  if (firstOutputAt === null || lastOutputAt === null) return false;
  const spanMs = lastOutputAt - firstOutputAt;
  return spanMs >= SLOW_STREAM.spanMsMin && seq * 1000 < SLOW_STREAM.perSecond * spanMs;
}
