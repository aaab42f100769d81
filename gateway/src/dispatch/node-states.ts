/**
 * The states that nodes tell: asks for them, reads them, and looks up what the records allow the node before a state takes effect.
 */
import { decode, FrameError } from "@tollgate/protocol/codec.ts";
import type { NodeState } from "@tollgate/protocol/frames.ts";
import { ALL_NODE_STATES, STATE_REQUEST, senderOf } from "@tollgate/protocol/subjects.ts";
import type { Clock } from "../base/clock.ts";
import type { SparingLog } from "../base/sparing-log.ts";
import type { Plane } from "../plane/plane.ts";
import type { FrameRates } from "./frame-rates.ts";
import type { Licences, NodeLicence } from "./licences.ts";

interface NodeStatesOptions {
  plane: Plane;
  rates: FrameRates;
  licences: Licences;
  clock: Clock;
  log: SparingLog;
  /** A state takes effect. Without a licence the node may not work. */
  apply: (nodeId: string, licence: NodeLicence | undefined, state: NodeState) => void;
}

/** Every node answers when it is asked for its state: hosts who change their records all the time must not make them. */
const ASK_EVERY_MS = 250;

export class NodeStates {
  readonly #options: NodeStatesOptions;
  readonly #observers = new Set<(nodeId: string, state: NodeState) => void>();
  /** The newest state of each node that waits for what the records say of it. */
  readonly #waiting = new Map<string, { state: NodeState }>();
  readonly #unsubscribe: () => void;
  #asking = false;
  #askAgain = false;
  #stopAsking = (): void => {};

  constructor(options: NodeStatesOptions) {
    this.#options = options;
    const { plane, log } = options;
    this.#unsubscribe = plane.subscribe(ALL_NODE_STATES, (subject, payload) => {
      this.#receive(subject, payload).catch((error) => {
        log.error("", { node: senderOf(subject), err: error }, "reading a node's state failed");
      });
    });
  }

  /** `run` hears every state, before it takes effect, until it asks not to. */
  onState(run: (nodeId: string, state: NodeState) => void): () => void {
    this.#observers.add(run);
    return () => this.#observers.delete(run);
  }

  /** Asks every node for its state: at once, and within a moment when it was done just now. */
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

  /** The node left: a state of it that still waits has no effect any more. */
  drop(nodeId: string): void {
    this.#waiting.delete(nodeId);
  }

  dropAll(): void {
    this.#waiting.clear();
  }

  close(): void {
    this.#unsubscribe();
    this.#stopAsking();
  }

  async #receive(subject: string, payload: Uint8Array): Promise<void> {
    const id = senderOf(subject);
    // Before anything is read of it: what is too much must cost next to nothing.
    if (id === undefined || !this.#options.rates.count(id, "states")) return;
    let state: NodeState;
    try {
      const frame = decode(payload);
      if (frame.kind !== "state") return;
      state = frame.state;
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      // The message alone: a cause could quote what the node sent.
      this.#options.log.warn(id, { node: id, why: error.message }, "node sent a malformed state");
      this.#options.rates.count(id, "malformed");
      return;
    }
    for (const run of this.#observers) run(id, state);
    await this.#understand(id, state);
  }

  /** While the records are read, a newer state takes the place of the one that waits. */
  async #understand(id: string, state: NodeState): Promise<void> {
    const before = this.#waiting.get(id);
    if (before !== undefined) {
      before.state = state;
      return;
    }
    const waiting = { state };
    this.#waiting.set(id, waiting);
    try {
      const licence = await this.#options.licences.of(id);
      // Its last words may come to be understood after its end.
      if (this.#waiting.get(id) !== waiting) return;
      this.#options.apply(id, licence, waiting.state);
    } finally {
      if (this.#waiting.get(id) === waiting) this.#waiting.delete(id);
    }
  }
}
