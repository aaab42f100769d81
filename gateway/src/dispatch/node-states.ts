/**
 * Reads the states that nodes report, and asks for them. Looks up the node's record before a state is applied. A state
 * equal to the previous one is not decoded. Of changed states, a few per second are applied, and always the newest.
 */
import { decodeFrame, FrameError } from "@tollgate/protocol/frame-codec.ts";
import type { NodeState } from "@tollgate/protocol/frames.ts";
import { ALL_NODE_STATES_SUBJECT, parseSendingNode, STATE_REQUEST_SUBJECT } from "@tollgate/protocol/nats-subjects.ts";
import type { Clock } from "../base/clock.ts";
import type { RateLimitedLog } from "../base/rate-limited-log.ts";
import type { DispatchPlane } from "../plane/plane.ts";
import type { FrameRates } from "./frame-rates.ts";
import type { NodeRecord, NodeRecords } from "./node-records.ts";

interface NodeStatesOptions {
  plane: DispatchPlane;
  rates: FrameRates;
  nodeRecords: NodeRecords;
  clock: Clock;
  log: RateLimitedLog;
  /** Applies a state. Without a `nodeRecord`, the node is not allowed to work. */
  apply: (nodeId: string, nodeRecord: NodeRecord | undefined, state: NodeState) => void;
  /** Called if a node repeats its previous state. Returns false if the state must still be processed. */
  unchanged: (nodeId: string) => boolean;
}

/** How many changed states of a node are applied per second, and at once after a pause. */
const EFFECTS = { perSecond: 4, burst: 8 };

interface Heard {
  bytes: Buffer;
  state: NodeState;
  /** How many more changed states could be applied at `leftAt` without a wait. Grows with time, see `EFFECTS`. */
  left: number;
  /** The time at which `left` was last computed, in the clock's monotonic milliseconds. */
  leftAt: number;
}

/**
 * Each request for states is answered by every node. So requests are limited, even if hosts change their records all
 * the time.
 */
const ASK_EVERY_MS = 250;

export class NodeStates {
  readonly #options: NodeStatesOptions;
  readonly #observers = new Set<(nodeId: string, state: NodeState) => void>();
  /** By node ID: the newest state that waits for the node's record. */
  readonly #waiting = new Map<string, { state: NodeState }>();
  /** By node ID: the latest state. */
  readonly #heard = new Map<string, Heard>();
  /** By node ID: a state that is applied later because of the limit, with a function that cancels this. */
  readonly #deferred = new Map<string, { bytes: Buffer; stop: () => void }>();
  readonly #unsubscribe: () => void;
  #asking = false;
  #askAgain = false;
  #stopAsking = (): void => {};

  constructor(options: NodeStatesOptions) {
    this.#options = options;
    const { plane, log } = options;
    this.#unsubscribe = plane.subscribe(ALL_NODE_STATES_SUBJECT, (subject, payload) => {
      this.#receive(subject, payload).catch((error) => {
        log.error("", { node: parseSendingNode(subject), err: error }, "could not read a node's state");
      });
    });
  }

  /** Calls `run` with every state before it is applied. Returns a function that stops this. */
  onState(run: (nodeId: string, state: NodeState) => void): () => void {
    this.#observers.add(run);
    return () => this.#observers.delete(run);
  }

  /** Asks all nodes for their state: immediately, or a moment later if it has just asked. */
  ask(): void {
    if (this.#asking) {
      this.#askAgain = true;
      return;
    }
    this.#asking = true;
    this.#askAgain = false;
    this.#options.plane.publish(STATE_REQUEST_SUBJECT, new Uint8Array(0));
    this.#stopAsking = this.#options.clock.after(ASK_EVERY_MS, () => {
      this.#asking = false;
      if (this.#askAgain) this.ask();
    });
  }

  /** Discards a state that still waits, because the node left. */
  drop(nodeId: string): void {
    this.#waiting.delete(nodeId);
    this.#heard.delete(nodeId);
    this.#deferred.get(nodeId)?.stop();
    this.#deferred.delete(nodeId);
  }

  dropAll(): void {
    for (const nodeId of new Set([...this.#waiting.keys(), ...this.#heard.keys(), ...this.#deferred.keys()]))
      this.drop(nodeId);
  }

  close(): void {
    this.#unsubscribe();
    this.#stopAsking();
    for (const { stop } of this.#deferred.values()) stop();
  }

  async #receive(subject: string, payload: Uint8Array): Promise<void> {
    const id = parseSendingNode(subject);
    // Counts the frame before it is decoded, so that excess frames cost very little.
    if (id === undefined || !this.#options.rates.count(id, "states")) return;
    const heard = this.#heard.get(id);
    if (heard?.bytes.equals(payload) === true) {
      this.#stopDeferred(id);
      for (const run of this.#observers) run(id, heard.state);
      if (!this.#options.unchanged(id)) await this.#understand(id, heard.state);
      return;
    }
    // Copies the payload, because the transport may reuse its buffer.
    const bytes = Buffer.from(payload);
    const waitMs = heard === undefined ? 0 : this.#untilNext(heard);
    if (waitMs === 0) return await this.#read(id, bytes);
    const deferred = this.#deferred.get(id);
    if (deferred !== undefined) deferred.bytes = bytes;
    else this.#defer(id, bytes, waitMs);
  }

  /**
   * Returns the milliseconds until the node's next state may be applied. Returns 0 if it may be applied now, and counts
   * it as applied.
   */
  #untilNext(heard: Heard): number {
    const now = this.#options.clock.monotonic();
    const { perSecond, burst } = EFFECTS;
    heard.left = Math.min(burst, heard.left + ((now - heard.leftAt) * perSecond) / 1000);
    heard.leftAt = now;
    if (heard.left < 1) return Math.ceil(((1 - heard.left) * 1000) / perSecond);
    heard.left -= 1;
    return 0;
  }

  #defer(id: string, first: Buffer, waitMs: number): void {
    const stop = this.#options.clock.after(waitMs, () => {
      const bytes = this.#deferred.get(id)?.bytes;
      this.#deferred.delete(id);
      const heard = this.#heard.get(id);
      if (heard !== undefined) this.#untilNext(heard);
      if (bytes === undefined) return;
      this.#read(id, bytes).catch((error) => {
        this.#options.log.error("", { node: id, err: error }, "could not read a node's state");
      });
    });
    this.#deferred.set(id, { bytes: first, stop });
  }

  #stopDeferred(id: string): void {
    this.#deferred.get(id)?.stop();
    this.#deferred.delete(id);
  }

  async #read(id: string, payload: Buffer): Promise<void> {
    let state: NodeState;
    try {
      const frame = decodeFrame(payload);
      if (frame.kind !== "state") return;
      state = frame.state;
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      // Logs the message without its cause, which could quote the node's frame.
      this.#options.log.warn(id, { node: id, why: error.message }, "node sent a malformed state frame");
      this.#options.rates.count(id, "malformed");
      return;
    }
    const { left = EFFECTS.burst, leftAt = this.#options.clock.monotonic() } = this.#heard.get(id) ?? {};
    this.#heard.set(id, { bytes: payload, state, left, leftAt });
    for (const run of this.#observers) run(id, state);
    await this.#understand(id, state);
  }

  /** Looks up the record and applies the state. During the look-up, a newer state replaces this one. */
  async #understand(id: string, state: NodeState): Promise<void> {
    const before = this.#waiting.get(id);
    if (before !== undefined) {
      before.state = state;
      return;
    }
    const waiting = { state };
    this.#waiting.set(id, waiting);
    try {
      const nodeRecord = await this.#options.nodeRecords.of(id);
      // The node may have left during the look-up.
      if (this.#waiting.get(id) !== waiting) return;
      this.#options.apply(id, nodeRecord, waiting.state);
    } finally {
      if (this.#waiting.get(id) === waiting) this.#waiting.delete(id);
    }
  }
}
