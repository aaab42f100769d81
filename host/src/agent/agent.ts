/**
 * The agent of one node: passes jobs from the dispatch plane to its engine and sends back the output. It reports its
 * load and models when it connects, when they change, when a gateway asks, and every few seconds.
 */
import { encodeFrame } from "@tollgate/protocol/frame-codec.ts";
import {
  gatewaySubject,
  nodeStateSubject,
  nodeSubject,
  STATE_REQUEST_SUBJECT,
} from "@tollgate/protocol/nats-subjects.ts";
import { PROTOCOL_VERSION } from "@tollgate/protocol/version.ts";
import { type Clock, sleep } from "../clock.ts";
import type { Engine, EngineAvailability } from "../engines/engine.ts";
import type { Log } from "../log.ts";
import type { AgentSnapshot, AgentState } from "./agent-snapshot.ts";
import { EventLoopTurnQueue } from "./event-loop-turn-queue.ts";
import { FormatSupportChecks } from "./format-support-checks.ts";
import { FrameOutbox } from "./frame-outbox.ts";
import { JobCounters } from "./job-counters.ts";
import { JobIntake } from "./job-intake.ts";
import type { PlaneCredentials, PlaneDialer } from "./plane-connection.ts";
import { PlaneLink } from "./plane-link.ts";
import { ScoringSupportChecks } from "./scoring-support-checks.ts";
import { StateReportThrottle } from "./state-report-throttle.ts";

const STATE_EVERY_MS = 5_000;
/** Gateways disconnect a node that reports its state more than twenty times a second. These limits stay below that. */
const STATE_THROTTLE = { perSecond: 12, burst: 8 };

export type AgentStatus =
  | { type: "online" }
  /** The connection was lost, and with it the running jobs. The agent is reconnecting. */
  | { type: "offline"; reason: Error | undefined }
  /** An attempt to reconnect failed. The agent tries again. */
  | { type: "trouble"; reason: Error };

interface AgentOptions {
  /** The node's id, `node_…`. */
  node: string;
  /** Name and version of this agent. */
  version: string;
  engine: Engine;
  /** The models that this node elected (chose to serve). */
  models: readonly string[];
  credentials: () => Promise<PlaneCredentials>;
  dial: PlaneDialer;
  clock: Clock;
  log: Log;
  status: (status: AgentStatus) => void;
  random?: () => number;
}

export class Agent {
  readonly #options: AgentOptions;
  readonly #link: PlaneLink;
  readonly #intake: JobIntake;
  readonly #outbox: FrameOutbox;
  readonly #formats: FormatSupportChecks;
  readonly #scores: ScoringSupportChecks;
  readonly #tally: JobCounters;
  readonly #report: StateReportThrottle;
  readonly #turnEnd: EventLoopTurnQueue;
  readonly #idlers = new Set<() => void>();
  readonly #listeners = new Set<() => void>();
  /** What the engine offers now (models, slots), limited to the models that the host elected (chose). */
  #now: EngineAvailability;
  #linkState: Exclude<AgentState, "draining"> = "connecting";
  #notifyDue = false;
  #stopWatching: (() => void) | undefined;
  #cancelHeartbeat: (() => void) | undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    const { node, clock, log, engine } = options;
    this.#now = this.#elected({ models: engine.models, slots: engine.slots });
    this.#tally = new JobCounters(clock);
    this.#report = new StateReportThrottle(clock, STATE_THROTTLE, () => this.#publishState());
    this.#turnEnd = new EventLoopTurnQueue(clock);
    const publish = (gateway: string, bytes: Uint8Array): void =>
      this.#link.publish(gatewaySubject(gateway, node), bytes);
    this.#outbox = new FrameOutbox(clock, publish, this.#turnEnd);
    this.#formats = new FormatSupportChecks({ engine, clock, log, changed: () => this.#report.due() });
    this.#scores = new ScoringSupportChecks({ engine, clock, log, changed: () => this.#report.due() });
    this.#intake = new JobIntake({
      engine,
      now: () => this.#now,
      keepsFormat: (model) => this.#formats.passed(model),
      scores: (model) => this.#scores.kindOf(model) !== undefined,
      outbox: this.#outbox,
      clock,
      log,
      tally: this.#tally,
      changed: () => this.#changed(),
    });
    this.#link = new PlaneLink({
      name: node,
      dial: options.dial,
      credentials: options.credentials,
      subscriptions: {
        [nodeSubject(node)]: (payload) => this.#intake.receive(payload),
        [STATE_REQUEST_SUBJECT]: () => this.#report.due(),
      },
      idle: () => this.#intake.busy === 0,
      // The first report on a connection is never delayed: its arrival makes the node online.
      connected: () => this.#publishState(),
      online: () => {
        this.#linkChanged("online");
        options.status({ type: "online" });
      },
      offline: (reason) => {
        this.#linkChanged("connecting");
        // The connection is lost, so gateways no longer wait for these jobs.
        this.#intake.abortAll();
        options.status({ type: "offline", reason });
      },
      trouble: (reason) => options.status({ type: "trouble", reason }),
      clock,
      log,
      ...(options.random === undefined ? {} : { random: options.random }),
    });
  }

  start(): void {
    this.#stopWatching = this.#options.engine.watch?.((now) => this.#engineChanged(now));
    this.#formats.serve(this.#now.models);
    this.#scores.serve(this.#now.models);
    void this.#link.run();
    this.#cancelHeartbeat = this.#options.clock.every(STATE_EVERY_MS, () => this.#report.due());
  }

  /** Refuses new jobs, waits up to `limitMs` until running jobs have ended, then disconnects. `now` ends the wait. */
  async drain(limitMs: number, now: AbortSignal): Promise<void> {
    this.#intake.drain();
    const limit = new AbortController();
    await Promise.race([this.#idle(), sleep(this.#options.clock, limitMs, AbortSignal.any([now, limit.signal]))]);
    limit.abort();
    await this.stop();
  }

  /** Disconnects at once. For running jobs this is like a lost connection: the gateway may run them on another node. */
  async stop(): Promise<void> {
    this.#cancelHeartbeat?.();
    this.#report.stop();
    this.#stopWatching?.();
    this.#formats.serve([]);
    this.#scores.serve([]);
    this.#intake.abortAll();
    this.#outbox.flushAll();
    await this.#link.stop();
    this.#linkChanged("stopped");
  }

  /** The agent's current state. */
  snapshot(): AgentSnapshot {
    const { done, failed, cancelled, refused } = this.#tally.outcomes;
    return {
      state: this.#intake.draining && this.#linkState !== "stopped" ? "draining" : this.#linkState,
      slots: this.#now.slots,
      slotsMax: this.#now.slotsMax ?? this.#now.slots,
      busy: this.#intake.busy,
      models: [...this.#now.models],
      elected: [...this.#options.models],
      jobsDone: done,
      jobsFailed: failed,
      jobsCancelled: cancelled,
      jobsRefused: refused,
      tokensPerSecond: this.#tally.tokensPerSecond,
      running: this.#tally.running,
    };
  }

  /**
   * Calls `listener` after a change of the connection, a slot or the engine, but not for output. Returns a function
   * that removes the listener.
   */
  onActivity(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  #idle(): Promise<void> {
    if (this.#intake.busy === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idlers.add(resolve));
  }

  #engineChanged(now: EngineAvailability): void {
    const before = this.#now;
    this.#now = this.#elected(now);
    const { models, slots, slotsMax } = this.#now;
    if (models.length < before.models.length)
      this.#options.log.warn({ models, slots }, "the engine serves fewer models than before");
    else if (models.length > before.models.length)
      this.#options.log.info({ models, slots }, "the engine serves more models than before");
    else if (slotsMax !== undefined && slots < before.slots)
      this.#options.log.warn(
        { slots, slotsMax },
        "accepting fewer requests at once, because the engine paused too long between tokens",
      );
    else this.#options.log.info({ models, slots }, "engine capacity changed");
    this.#formats.serve(models);
    this.#scores.serve(models);
    this.#changed();
  }

  /** Limits the engine's offer to the elected models. If none of them is reachable, the node announces no slots. */
  #elected({ models, ...room }: EngineAvailability): EngineAvailability {
    const served = this.#options.models.filter((model) => models.includes(model));
    return served.length === 0 ? { models: served, slots: 0 } : { models: served, ...room };
  }

  #linkChanged(state: Exclude<AgentState, "draining">): void {
    this.#linkState = state;
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /**
   * Reports the state and notifies listeners once at the end of the event loop's turn, however many slots change in it.
   */
  #changed(): void {
    if (!this.#notifyDue) {
      this.#notifyDue = true;
      this.#turnEnd.add(() => {
        this.#notifyDue = false;
        this.#report.due();
        this.#notify();
      });
    }
    if (this.#intake.busy > 0) return;
    this.#link.quiet();
    for (const resolve of this.#idlers) resolve();
    this.#idlers.clear();
  }

  /**
   * The JSON Schema keywords that the engines of all these models enforce, or no field if one engine does not report
   * its keywords.
   */
  #keywordsOf(models: readonly string[]): { schema_keywords?: string[] } {
    const each = models.map((model) => this.#options.engine.schemaKeywords?.(model));
    const [first, ...others] = each;
    if (first === undefined || others.includes(undefined)) return {};
    return { schema_keywords: first.filter((keyword) => others.every((other) => other?.includes(keyword))) };
  }

  #publishState(): void {
    const { node, version } = this.#options;
    const formatted = this.#now.models.filter((model) => this.#formats.passed(model));
    const scores = this.#scores.of(this.#now.models);
    const state = {
      protocol: PROTOCOL_VERSION,
      agent: version,
      slots: this.#now.slots,
      ...(this.#now.slotsMax === undefined ? {} : { slots_max: this.#now.slotsMax }),
      busy: this.#intake.busy,
      models: [...this.#now.models],
      ...(formatted.length === 0 ? {} : { json_schema: formatted, ...this.#keywordsOf(formatted) }),
      ...(Object.keys(scores).length === 0 ? {} : { scores }),
      accepts_early: true,
      draining: this.#intake.draining,
    };
    this.#link.publish(nodeStateSubject(node), encodeFrame({ kind: "state", state }));
  }
}
