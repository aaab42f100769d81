/**
 * The agent of one node: takes jobs from the plane to its engine and brings the output back. It says how busy it is when
 * it connects, whenever that changes, when a gateway asks, and every few seconds.
 */
import { encode } from "@tollgate/protocol/codec.ts";
import { nodeState, STATE_REQUEST, toGateway, toNode } from "@tollgate/protocol/subjects.ts";
import { PROTOCOL_VERSION } from "@tollgate/protocol/version.ts";
import type { Clock } from "../clock.ts";
import { sleep } from "../clock.ts";
import type { Engine } from "../engines/engine.ts";
import type { Log } from "../log.ts";
import { JobDesk } from "./desk.ts";
import { Link } from "./link.ts";
import { Outbox } from "./outbox.ts";
import type { Dial, PlaneCredentials } from "./plane.ts";

const STATE_EVERY_MS = 5_000;

export type AgentStatus =
  | { type: "online" }
  /** The connection is gone and so are the jobs it carried; the agent is on its way back. */
  | { type: "offline"; reason: Error | undefined }
  /** Getting back failed, and will be tried again. */
  | { type: "trouble"; reason: Error };

export interface AgentOptions {
  /** The node's id, `node_…`. */
  node: string;
  /** Name and version of this agent. */
  version: string;
  engine: Engine;
  /** The elected models. */
  models: readonly string[];
  credentials: () => Promise<PlaneCredentials>;
  dial: Dial;
  clock: Clock;
  log: Log;
  status: (status: AgentStatus) => void;
  random?: () => number;
}

export class Agent {
  readonly #options: AgentOptions;
  readonly #link: Link;
  readonly #desk: JobDesk;
  readonly #outbox: Outbox;
  readonly #idlers = new Set<() => void>();
  #stateDue = false;
  #cancelHeartbeat: (() => void) | undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    const { node, clock, log, engine, models } = options;
    this.#outbox = new Outbox(clock, (gateway, bytes) => this.#link.publish(toGateway(gateway, node), bytes));
    this.#desk = new JobDesk({
      engine,
      models,
      outbox: this.#outbox,
      clock,
      log,
      drop: () => this.#drop(),
      changed: () => this.#changed(),
    });
    this.#link = new Link({
      name: node,
      dial: options.dial,
      credentials: options.credentials,
      subscriptions: {
        [toNode(node)]: (payload) => this.#desk.receive(payload),
        [STATE_REQUEST]: () => this.#publishState(),
      },
      idle: () => this.#desk.busy === 0,
      connected: () => this.#publishState(),
      online: () => options.status({ type: "online" }),
      offline: (reason) => {
        // Their gateways have given these jobs up.
        this.#desk.abortAll();
        options.status({ type: "offline", reason });
      },
      trouble: (reason) => options.status({ type: "trouble", reason }),
      clock,
      log,
      ...(options.random === undefined ? {} : { random: options.random }),
    });
  }

  start(): void {
    void this.#link.run();
    this.#cancelHeartbeat = this.#options.clock.every(STATE_EVERY_MS, () => this.#publishState());
  }

  /** Refuses what is new, lets what runs finish within `limitMs`, then leaves. `now` cuts the wait short. */
  async drain(limitMs: number, now: AbortSignal): Promise<void> {
    this.#desk.drain();
    const limit = new AbortController();
    await Promise.race([this.#idle(), sleep(this.#options.clock, limitMs, AbortSignal.any([now, limit.signal]))]);
    limit.abort();
    await this.stop();
  }

  /** Leaves at once. What still ran ends like a lost connection: another node may take it over. */
  async stop(): Promise<void> {
    this.#cancelHeartbeat?.();
    this.#desk.abortAll();
    await this.#link.stop();
  }

  #idle(): Promise<void> {
    if (this.#desk.busy === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idlers.add(resolve));
  }

  #drop(): void {
    this.#outbox.flushAll();
    this.#link.drop();
  }

  /** Several slots may change in one turn; the plane hears of it once, at its end. */
  #changed(): void {
    if (!this.#stateDue) {
      this.#stateDue = true;
      this.#options.clock.soon(() => this.#publishState());
    }
    if (this.#desk.busy > 0) return;
    this.#link.quiet();
    for (const resolve of this.#idlers) resolve();
    this.#idlers.clear();
  }

  #publishState(): void {
    this.#stateDue = false;
    const { node, version, engine, models } = this.#options;
    const state = {
      protocol: PROTOCOL_VERSION,
      agent: version,
      slots: engine.slots,
      busy: this.#desk.busy,
      models: [...models],
      draining: this.#desk.draining,
    };
    this.#link.publish(nodeState(node), encode({ kind: "state", state }));
  }
}
