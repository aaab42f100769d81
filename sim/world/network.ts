/**
 * The simulated dispatch plane and the network around it. Messages from one sender to one receiver keep their order;
 * other messages do not, as with the protocol's subjects. Delays are random. Messages in flight on a connection that
 * ends are lost. The plane never delivers a message twice, and never loses one in the middle of a connection.
 */

import type { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import type { Dependency } from "../../gateway/src/base/dependency.ts";
import { concatPayloadParts, type DispatchPlane } from "../../gateway/src/plane/plane.ts";
import { patternCovers } from "../../gateway/src/plane/subject-patterns.ts";
import { STATE_REQUEST_SUBJECT } from "../../protocol/src/nats-subjects.ts";
import type { ProcessLifetime } from "./process-lifetime.ts";
import type { Scheduler } from "./scheduler.ts";

type Receive = (subject: string, payload: Uint8Array) => void;

interface Subscription {
  receive: Receive;
  /**
   * Whether the subscription's pattern matches a subject. Answers are remembered by subject, because each subject is
   * matched thousands of times.
   */
  covers: (subject: string) => boolean;
}

/** A participant's connection to the plane. */
interface Link {
  name: string;
  isUp: boolean;
  /** Incremented when the connection breaks: messages sent before are lost. */
  epoch: number;
  subscriptions: Set<Subscription>;
  /** The arrival time of the last message to each receiver, which keeps messages in order. */
  arrivesMs: Map<string, number>;
}

interface GatewayLink extends Link {
  life: ProcessLifetime;
  health: Dependency & { isAway: boolean };
  hears: boolean;
  gone: ((nodeId: string, by: "node" | "plane") => void)[];
  away: (() => void)[];
  back: (() => void)[];
}

export interface NodeLink {
  publish(subject: string, payload: Uint8Array): void;
}

interface NodeEntry extends Link {
  /** Tells the node that its connection ended. */
  dropped: (by: "node" | "plane") => void;
  revoked: boolean;
  movedAtMs: number | undefined;
}

/** The messages on one kind of subject: `published` counts each once, `delivered` once for each receiver. */
interface Traffic {
  published: number;
  delivered: number;
  bytesDelivered: number;
}

/**
 * The longest time in milliseconds from a lost connection until the gateway suspects the loss, and the longest time
 * from then until the gateway treats the plane as unreachable. The sum is below the 2 s after which a node counts as
 * silent.
 */
const DOUBT_MS = 1_000;
const KNOWN_MS = 800;
export const PLANE_UNREACHABLE = "the plane is unreachable";

export class Network {
  readonly #scheduler: Scheduler;
  readonly #chance: SeededRandom;
  readonly #gateways = new Map<string, GatewayLink>();
  readonly #nodes = new Map<string, NodeEntry>();
  /** The maximum delay of a message in milliseconds. */
  delayMsMax = 8;
  sent = 0;
  lost = 0;
  /** Counts of messages by the second part of the subject (`protocol/src/nats-subjects.ts`). */
  readonly traffic = new Map<string, Traffic>();

  constructor(scheduler: Scheduler, chance: SeededRandom) {
    this.#scheduler = scheduler;
    this.#chance = chance;
  }

  gateway(name: string, { life, originMs }: { life: ProcessLifetime; originMs: number }): DispatchPlane {
    const link: GatewayLink = {
      ...newLink(name),
      life,
      health: { name: "plane", isAway: false, latencyMs: null },
      hears: true,
      gone: [],
      away: [],
      back: [],
    };
    this.#gateways.set(name, link);
    life.onEnd(() => {
      this.#break(link);
      this.#gateways.delete(name);
    });
    const done = (what: () => void): Promise<void> => {
      if (!life.mayAct()) return life.never();
      if (link.health.isAway) return Promise.reject(new Error(PLANE_UNREACHABLE));
      this.#scheduler.after(this.#chance.between(1, 5), what);
      return Promise.resolve();
    };
    return {
      health: link.health,
      get hears() {
        return link.hears;
      },
      publish: (subject, payload, rest) => {
        if (life.mayAct() && !link.health.isAway) this.#publish(link, subject, concatPayloadParts(payload, rest));
      },
      subscribe: (pattern, receive) =>
        subscribe(link, pattern, (subject, payload) => life.hears && receive(subject, payload)),
      onNodeGone: (run) => link.gone.push(run),
      onAway: (run) => link.away.push(run),
      onBack: (run) => link.back.push(run),
      movedAt: (nodeId) => {
        const moved = this.#nodes.get(nodeId)?.movedAtMs;
        return moved === undefined ? undefined : moved + originMs;
      },
      // Each node is connected to a plane server of its own. If the plane did not notice the end of the node's
      // connection, that server counts as dead.
      movedFrom: (nodeId) => nodeId,
      answers: (server) => this.#nodes.get(server)?.movedAtMs === undefined,
      reaches: () => true,
      whenProven: (_nodeId, told) => told(true),
      mint: () => Promise.reject(new Error("nobody asks a simulated plane for credentials")),
      revoke: (nodeId) =>
        done(() => {
          const node = this.#nodes.get(nodeId);
          if (node !== undefined) node.revoked = true;
          this.cutNode(nodeId, "node");
        }),
      refuseNewConnections: (nodeId) =>
        done(() => {
          const node = this.#nodes.get(nodeId);
          if (node !== undefined) node.revoked = true;
        }),
      cut: (nodeId) => done(() => this.cutNode(nodeId, "node")),
      close: () => Promise.resolve(),
    };
  }

  node(nodeId: string, on: { receive: Receive; dropped: NodeEntry["dropped"]; patterns: string[] }): NodeLink {
    const link: NodeEntry = {
      ...newLink(nodeId),
      isUp: false,
      dropped: on.dropped,
      revoked: false,
      movedAtMs: undefined,
    };
    for (const pattern of on.patterns) subscribe(link, pattern, on.receive);
    this.#nodes.set(nodeId, link);
    return { publish: (subject, payload) => this.#publish(link, subject, payload) };
  }

  /**
   * Connects a node. Returns false if its credentials were revoked. `moved`: the plane did not notice the end of the
   * former connection.
   */
  connectNode(nodeId: string, { moved = false } = {}): boolean {
    const link = this.#nodes.get(nodeId) as NodeEntry;
    if (link.revoked) return false;
    link.isUp = true;
    link.movedAtMs = moved ? this.#scheduler.nowMs : undefined;
    return true;
  }

  /** Makes the node's credentials valid again. */
  pardon(nodeId: string): void {
    (this.#nodes.get(nodeId) as NodeEntry).revoked = false;
  }

  /** Ends the node's connection. Gateways are notified a little later, unless the plane itself did not notice. */
  cutNode(nodeId: string, by: "node" | "plane", { unnoticed = false } = {}): void {
    const link = this.#nodes.get(nodeId);
    if (link === undefined || !link.isUp) return;
    this.#break(link);
    link.isUp = false;
    if (!unnoticed) {
      for (const gateway of this.#gateways.values()) {
        this.#scheduler.after(this.#chance.between(1, 20), () => {
          if (!gateway.life.hears || gateway.health.isAway || !gateway.isUp) return;
          for (const run of gateway.gone) run(nodeId, by);
        });
      }
    }
    link.dropped(by);
  }

  /** Breaks a gateway's connection. The gateway first doubts it and then treats the plane as unreachable. */
  cutGateway(name: string): boolean {
    const link = this.#gateways.get(name);
    if (link === undefined || !link.isUp) return false;
    this.#break(link);
    link.isUp = false;
    const { epoch } = link;
    const isStill = (): boolean => link.life.hears && !link.isUp && link.epoch === epoch;
    this.#scheduler.after(this.#chance.between(1, DOUBT_MS), () => {
      if (!isStill()) return;
      link.hears = false;
      this.#scheduler.after(this.#chance.between(1, KNOWN_MS), () => {
        if (!isStill()) return;
        link.health.isAway = true;
        for (const run of link.away) run();
      });
    });
    return true;
  }

  /** Heals a gateway's connection. If the gateway noticed the cut before, it may have missed messages. */
  healGateway(name: string): void {
    const link = this.#gateways.get(name);
    if (link === undefined || link.isUp || !link.life.hears) return;
    if (!link.health.isAway) {
      // The gateway has not noticed the cut yet: it notices it now and reconnects.
      link.hears = false;
      link.health.isAway = true;
      for (const run of link.away) run();
    }
    link.isUp = true;
    link.hears = true;
    link.health.isAway = false;
    this.#publish(link, STATE_REQUEST_SUBJECT, new Uint8Array(0));
    for (const run of link.back) run();
  }

  #trafficOn(subject: string): Traffic {
    const kind = subject.split(".", 2)[1] as string;
    const traffic = this.traffic.get(kind) ?? { published: 0, delivered: 0, bytesDelivered: 0 };
    this.traffic.set(kind, traffic);
    return traffic;
  }

  #break(link: Link): void {
    link.epoch += 1;
    link.arrivesMs.clear();
  }

  *#links(): Generator<Link> {
    yield* this.#gateways.values();
    yield* this.#nodes.values();
  }

  #publish(from: Link, subject: string, payload: Uint8Array): void {
    if (!from.isUp) {
      this.lost += 1;
      return;
    }
    const bytes = Uint8Array.from(payload);
    const epoch = from.epoch;
    const traffic = this.#trafficOn(subject);
    traffic.published += 1;
    for (const to of this.#links()) {
      if (!to.isUp) continue;
      const receivers: Receive[] = [];
      for (const { covers, receive } of to.subscriptions) if (covers(subject)) receivers.push(receive);
      if (receivers.length === 0) continue;
      this.sent += 1;
      traffic.delivered += 1;
      traffic.bytesDelivered += bytes.length;
      const toEpoch = to.epoch;
      const atMs = Math.max(
        this.#scheduler.nowMs + this.#chance.between(1, this.delayMsMax),
        from.arrivesMs.get(to.name) ?? 0,
      );
      from.arrivesMs.set(to.name, atMs);
      this.#scheduler.after(atMs - this.#scheduler.nowMs, () => {
        if (from.epoch !== epoch || to.epoch !== toEpoch) {
          this.lost += 1;
          return;
        }
        for (const receive of receivers) receive(subject, bytes);
      });
    }
  }
}

const newLink = (name: string): Link => ({
  name,
  isUp: true,
  epoch: 0,
  subscriptions: new Set(),
  arrivesMs: new Map(),
});

function subscribe(link: Link, pattern: string, receive: Receive): () => void {
  const known = new Map<string, boolean>();
  const isCovered = (subject: string): boolean => {
    const answer = known.get(subject) ?? patternCovers(pattern, subject);
    known.set(subject, answer);
    return answer;
  };
  const subscription = { receive, covers: isCovered };
  link.subscriptions.add(subscription);
  return () => link.subscriptions.delete(subscription);
}
