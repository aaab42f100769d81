/** For tests: a dispatch plane in memory, and fake nodes that the tests control. */
import { decodeFrame, encodeFrame } from "@tollgate/protocol/frame-codec.ts";
import type { Frame } from "@tollgate/protocol/frames.ts";
import {
  gatewaySubject,
  nodeStateSubject,
  nodeSubject,
  STATE_REQUEST_SUBJECT,
} from "@tollgate/protocol/nats-subjects.ts";
import type { Dependency } from "../base/dependency.ts";
import { concatPayloadParts, type DispatchPlane, type PlaneOwnership } from "../plane/plane.ts";
import type { DispatchSink } from "./dispatch-request.ts";

type Sendable = Exclude<Frame, { kind: "unknown" }>;

export class MemoryPlane implements DispatchPlane {
  readonly health: Dependency & { isAway: boolean } = { name: "plane", isAway: false, latencyMs: null };
  readonly #subscribers = new Set<{ pattern: RegExp; receive: (subject: string, payload: Uint8Array) => void }>();
  readonly #gone: ((nodeId: string, by: "node" | "plane") => void)[] = [];
  readonly #away: (() => void)[] = [];
  readonly #back: (() => void)[] = [];
  hears = true;
  /** Nodes that this gateway cannot reach, as if their server hung. */
  readonly unreachable = new Set<string>();
  /** Nodes that reconnected, with the time of the reconnection. */
  readonly moved = new Map<string, number>();
  /** The deployment that owns the plane, as the plane's servers would store it. */
  owner: string | undefined;
  readonly isShared = true;
  readonly ownership: PlaneOwnership = {
    owner: async () => this.owner,
    claim: async (deployment) => {
      this.owner ??= deployment;
      return this.owner;
    },
    take: async (deployment) => {
      this.owner = deployment;
    },
  };
  /** The nodes that the gateway disconnected. */
  readonly cuts: string[] = [];

  /** Gateways whose messages to other gateways are lost. */
  readonly #silenced = new Set<string>();
  silence(gatewayId: string): void {
    this.#silenced.add(`{"from":"${gatewayId}",`);
  }

  publish(subject: string, payload: Uint8Array, rest?: Uint8Array): void {
    if (this.health.isAway) return;
    const whole = concatPayloadParts(payload, rest);
    if (
      this.#silenced.size > 0 &&
      [...this.#silenced].some((opening) => Buffer.from(whole).toString().startsWith(opening))
    )
      return;
    for (const { pattern, receive } of [...this.#subscribers]) if (pattern.test(subject)) receive(subject, whole);
  }
  subscribe(pattern: string, receive: (subject: string, payload: Uint8Array) => void): () => void {
    const subscriber = { pattern: new RegExp(`^${pattern.replaceAll(".", "\\.").replace("*", "[^.]+")}$`), receive };
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }
  async hasSubscribers(subject: string): Promise<boolean> {
    return [...this.#subscribers].some(({ pattern }) => pattern.test(subject));
  }
  onNodeGone(gone: (nodeId: string, by: "node" | "plane") => void): void {
    this.#gone.push(gone);
  }
  onAway(run: () => void): void {
    this.#away.push(run);
  }
  onBack(run: () => void): void {
    this.#back.push(run);
  }
  movedAt(nodeId: string): number | undefined {
    return this.moved.get(nodeId);
  }
  /** The plane's server to which the nodes were connected, as `movedFrom` reports it. */
  server = "s1";
  /** The plane's servers that do not respond. */
  readonly deadServers = new Set<string>();
  movedFrom(): string {
    return this.server;
  }
  answers(server: string): boolean {
    return !this.deadServers.has(server);
  }
  reaches(nodeId: string): boolean {
    return !this.unreachable.has(nodeId);
  }
  /** Simulates that the server froze a moment ago, before any check noticed it. */
  isFrozen = false;
  whenProven(_nodeId: string, told: (isWell: boolean) => void): void {
    told(!this.isFrozen);
  }
  drop(nodeId: string, by: "node" | "plane" = "node"): void {
    for (const gone of this.#gone) gone(nodeId, by);
  }
  /** Makes the plane unreachable: no message passes in either direction until `comeBack`. */
  goAway(): void {
    this.health.isAway = true;
    for (const run of this.#away) run();
  }
  comeBack(): void {
    this.health.isAway = false;
    this.publish(STATE_REQUEST_SUBJECT, new Uint8Array(0));
    for (const run of this.#back) run();
  }
  mint(): never {
    throw new Error("a plane in memory has no credentials");
  }
  async revoke(): Promise<void> {}
  async refuseNewConnections(): Promise<void> {}
  /** Reports the node as disconnected after the caller's turn of the event loop, as real planes do. */
  async cut(nodeId: string): Promise<void> {
    this.cuts.push(nodeId);
    await Promise.resolve();
    this.drop(nodeId);
  }
  async close(): Promise<void> {}
}

export class FakeNode {
  readonly id: string;
  /** Every frame that a gateway sent to this node. */
  readonly heard: Frame[] = [];
  readonly #plane: MemoryPlane;
  readonly #gatewayId: string;
  readonly #jobs: string[] = [];
  #waiting: { nth: number; resolve: (job: string) => void }[] = [];

  constructor(plane: MemoryPlane, options: { id: string; gatewayId: string }) {
    this.id = options.id;
    this.#plane = plane;
    this.#gatewayId = options.gatewayId;
    plane.subscribe(nodeSubject(this.id), (_subject, payload) => {
      const frame = decodeFrame(payload);
      this.heard.push(frame);
      if (frame.kind !== "job") return;
      const nth = this.#jobs.push(frame.header.job);
      for (const waiting of this.#waiting) if (waiting.nth === nth) waiting.resolve(frame.header.job);
    });
  }

  /** The ID of the n-th job offered to this node. */
  job(nth = 1): Promise<string> {
    return new Promise((resolve) => {
      const job = this.#jobs[nth - 1];
      if (job === undefined) this.#waiting.push({ nth, resolve });
      else resolve(job);
    });
  }

  /** Reports a state. By default it has no `json_schema`, like the states of older agents. */
  report(told: {
    models: string[];
    slots: number;
    busy?: number;
    draining?: boolean;
    json_schema?: string[];
    schema_keywords?: string[];
    accepts_early?: boolean;
  }): void {
    const { json_schema, busy = 0, draining = false, ...rest } = told;
    const formats = json_schema === undefined ? { protocol: "1.1" } : { protocol: "1.2", json_schema };
    const state = { agent: "fake", busy, draining, ...formats, ...rest };
    this.#plane.publish(nodeStateSubject(this.id), encodeFrame({ kind: "state", state }));
  }

  say(frame: Sendable): void {
    this.raw(encodeFrame(frame));
  }

  raw(bytes: Uint8Array): void {
    this.#plane.publish(gatewaySubject(this.#gatewayId, this.id), bytes);
  }

  delta(job: string, seq: number, text: string): void {
    this.say({ kind: "deltas", deltas: [{ job, seq, channel: "answer", text }] });
  }
}

/** A sink that collects all text. It needs no more output once it has `enoughAt` characters. */
export class TextSink implements DispatchSink {
  text = "";
  reachedClient = false;
  readonly #streams: boolean;
  readonly #enoughAt: number;
  constructor({ streams = false, enoughAt = Number.POSITIVE_INFINITY } = {}) {
    this.#streams = streams;
    this.#enoughAt = enoughAt;
  }
  begin(): void {
    this.text = "";
  }
  delta(_channel: string, text: string): "more" | "enough" {
    this.text += text;
    this.reachedClient ||= this.#streams;
    return this.text.length >= this.#enoughAt ? "enough" : "more";
  }
  vectors(): "broken" {
    return "broken";
  }
  finished(): "answered" | "empty" | "broken" {
    return this.text.trim() === "" ? "empty" : "answered";
  }
}
