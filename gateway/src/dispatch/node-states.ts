/**
 * The states that nodes report: asks for them, reads them, and looks up the node's record before a state takes effect. A state equal to the
 * previous one is not even decoded; of different ones a few per second take effect, the newest last.
 */
import { decode, FrameError } from "@tollgate/protocol/codec.ts";
import type { NodeState } from "@tollgate/protocol/frames.ts";
import { ALL_NODE_STATES, STATE_REQUEST, senderOf } from "@tollgate/protocol/subjects.ts";
import type { Clock } from "../base/clock.ts";
import type { RateLimitedLog } from "../base/rate-limited-log.ts";
import type { Plane } from "../plane/plane.ts";
import type { FrameRates } from "./frame-rates.ts";
import type { NodeRecord, NodeRecords } from "./node-records.ts";

interface NodeStatesOptions {
  plane: Plane;
  rates: FrameRates;
  nodeRecords: NodeRecords;
  clock: Clock;
  log: RateLimitedLog;
  /** A state takes effect. Without a `nodeRecord` the node may not work. */
  apply: (nodeId: string, nodeRecord: NodeRecord | undefined, state: NodeState) => void;
  /** The node repeated its previous state. Returns false when it must be processed all the same. */
  unchanged: (nodeId: string) => boolean;
}

/** How often a changed state takes effect: per second, and at once after a quiet time. */
const EFFECTS = { perSecond: 4, burst: 8 };

interface Heard {
  bytes: Buffer;
  state: NodeState;
  /** How many more changed states may take effect. */
  left: number;
  leftAt: number;
}

/** Every node answers a request for states, so hosts who change their records all the time must not trigger one each time. */
const ASK_EVERY_MS = 250;

export class NodeStates {
  readonly #options: NodeStatesOptions;
  readonly #observers = new Set<(nodeId: string, state: NodeState) => void>();
  /** The newest state of each node that waits for its record. */
  readonly #waiting = new Map<string, { state: NodeState }>();
  /** The latest state of each node. */
  readonly #heard = new Map<string, Heard>();
  /** States that have to wait, with the function that cancels the wait. */
  readonly #deferred = new Map<string, { bytes: Buffer; stop: () => void }>();
  readonly #unsubscribe: () => void;
  #asking = false;
  #askAgain = false;
  #stopAsking = (): void => {};

  constructor(options: NodeStatesOptions) {
    this.#options = options;
    const { plane, log } = options;
    this.#unsubscribe = plane.subscribe(ALL_NODE_STATES, (subject, payload) => {
      this.#receive(subject, payload).catch((error) => {
        log.error("", { node: senderOf(subject), err: error }, "could not read a node's state");
      });
    });
  }

  /** Calls `run` with every state before it takes effect. Returns the function that ends it. */
  onState(run: (nodeId: string, state: NodeState) => void): () => void {
    this.#observers.add(run);
    return () => this.#observers.delete(run);
  }

  /** Asks every node for its state: immediately, or after a moment if it has just asked. */
  ask(): void {
    if (this.#asking) {
      this.#askAgain = true;
      return;
    }
    this.#asking = true;
    this.#askAgain = false;
    this.#options.plane.publish(STATE_REQUEST, new Uint8Array(0));
    this.#stopAsking = this.#options.clock.after(ASK_EVERY_MS, () => {
      this.#asking = false;
      if (this.#askAgain) this.ask();
    });
  }

  /** The node left, so a state that still waits has no effect. */
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
    const id = senderOf(subject);
    // Checked before anything is decoded, so that excess frames cost next to nothing.
    if (id === undefined || !this.#options.rates.count(id, "states")) return;
    const heard = this.#heard.get(id);
    if (heard?.bytes.equals(payload) === true) {
      this.#stopDeferred(id);
      for (const run of this.#observers) run(id, heard.state);
      if (!this.#options.unchanged(id)) await this.#understand(id, heard.state);
      return;
    }
    // Copied, because the transport may reuse its buffer.
    const bytes = Buffer.from(payload);
    const waitMs = heard === undefined ? 0 : this.#untilNext(heard);
    if (waitMs === 0) return await this.#read(id, bytes);
    const deferred = this.#deferred.get(id);
    if (deferred !== undefined) deferred.bytes = bytes;
    else this.#defer(id, bytes, waitMs);
  }

  /** Milliseconds until the node's next state takes effect; 0: now, and it counts. */
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
      const frame = decode(payload);
      if (frame.kind !== "state") return;
      state = frame.state;
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      // Only the message is logged, because a cause could quote the node's frame.
      this.#options.log.warn(id, { node: id, why: error.message }, "node sent a malformed state");
      this.#options.rates.count(id, "malformed");
      return;
    }
    const { left = EFFECTS.burst, leftAt = this.#options.clock.monotonic() } = this.#heard.get(id) ?? {};
    this.#heard.set(id, { bytes: payload, state, left, leftAt });
    for (const run of this.#observers) run(id, state);
    await this.#understand(id, state);
  }

  /** While the record is read, a newer state replaces the waiting one. */
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
      // The record may arrive after the node has left.
      if (this.#waiting.get(id) !== waiting) return;
      this.#options.apply(id, nodeRecord, waiting.state);
    } finally {
      if (this.#waiting.get(id) === waiting) this.#waiting.delete(id);
    }
  }
}
