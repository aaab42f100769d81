/**
 * The other gateways on the dispatch plane. Gateways exchange signs of life, slot counts and observations about nodes,
 * so that all know soon what one of them observed. No request waits for the exchange, and lost messages do no harm.
 * Observations are collected for a moment before they are sent, and their number is limited per topic and node. When a
 * node joins here (the node is new, this gateway is new, or the plane was unreachable), the gateway asks the others for
 * their records of it.
 */
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { type RateLimitedLog, rateLimitedLog } from "../../base/rate-limited-log.ts";
import { PEERS_SUBJECT, peerSubject } from "../../plane/gateway-subjects.ts";
import type { DispatchPlane } from "../../plane/plane.ts";
import type { Roster } from "../roster.ts";
import { type AccountLoadsByModel, REPORTED_LOADS_MAX, type SharedAccountLoads } from "./account-loads.ts";
import {
  type PeerItemsByTopicAndNode,
  type PeerMessage,
  parsePeerMessage,
  peerMessagePrefix,
  serializePeerMessage,
} from "./peer-messages.ts";
import type { PeerTopic, ReportItem } from "./peer-topic.ts";
import { RecentMaximum } from "./recent-maximum.ts";

const ALIVE_EVERY_MS = 2_000;
const GONE_AFTER_MS = 10_000;
const SLOTS_FOR_MS = 60_000;
/**
 * Observations are collected for this time and sent together: a busy gateway then sends four messages a second instead
 * of thousands.
 */
const GATHER_MS = 250;
/**
 * The most items per message, which keeps it well below the plane's size limit. Further items are sent in the next
 * message.
 */
const ITEMS_MAX = 2_000;
const ASKED_MAX = 64;

interface PeersOptions {
  plane: DispatchPlane;
  roster: Roster;
  gatewayId: string;
  clock: Clock;
  log: Log;
}

export interface PeerGateways {
  /** The number of gateways on this dispatch plane, including this one. */
  gateways(): number;
  /** The highest number of slots for the model that another gateway reported within the last minute. */
  slotsTold(model: string): number;
  /** Starts to exchange the number of each account's requests with the other gateways. */
  readonly shareLoads: (loads: SharedAccountLoads) => void;
  /** Starts to exchange a topic with the other gateways. Returns a function that reports an observation. */
  exchange<Item>(topic: PeerTopic<Item>): ReportItem<Item>;
  close(): void;
}

export function openPeerGateways(options: PeersOptions): PeerGateways {
  return new OpenPeers(options);
}

interface OpenTopic {
  name: string;
  /** Observations that are not sent yet, by node. */
  waiting: Map<string, unknown[]>;
  /** Handles items from another gateway. Returns how many of them were invalid. */
  hear(nodeId: string, items: unknown[], how: { shiftMs: number; isHeld: boolean }): number;
  held(nodeId: string): unknown[];
}

class OpenPeers implements PeerGateways {
  readonly #options: PeersOptions;
  readonly #log: RateLimitedLog;
  /** When each other gateway last sent a message, in monotonic milliseconds. */
  readonly #seenAt = new Map<string, number>();
  readonly #slots = new Map<string, RecentMaximum>();
  readonly #topics: OpenTopic[] = [];
  /** Nodes on which this gateway's number of jobs changed since its previous message. */
  readonly #worked = new Set<string>();
  #loads: SharedAccountLoads | undefined;
  /** By model: accounts whose number of requests at this gateway changed since its previous message. */
  readonly #loadsChanged = new Map<string, Set<string>>();
  /** Nodes that joined here, and of which the other gateways' records were not requested yet. */
  readonly #toAsk = new Set<string>();
  readonly #stop: (() => void)[];
  /** The first bytes of this gateway's own messages, which the plane also delivers to itself. */
  readonly #ownOpening: Buffer;
  #stopGathering: (() => void) | undefined;

  constructor(options: PeersOptions) {
    this.#options = options;
    const { plane, roster, clock, log, gatewayId } = options;
    this.#log = rateLimitedLog(log, clock);
    this.#ownOpening = Buffer.from(peerMessagePrefix(gatewayId));
    const receive = (_subject: string, payload: Uint8Array): void => this.#receive(payload);
    this.#stop = [
      plane.subscribe(PEERS_SUBJECT, receive),
      plane.subscribe(peerSubject(gatewayId), receive),
      clock.every(ALIVE_EVERY_MS, () => this.#alive()),
      () => this.#stopGathering?.(),
      roster.onWork((id) => {
        if (this.#seenAt.size === 0) return;
        this.#worked.add(id);
        this.#gather();
      }),
    ];
    roster.onJoin(({ id }) => {
      this.#toAsk.add(id);
      this.#gather();
    });
    this.#send(PEERS_SUBJECT, { hello: true });
  }

  gateways(): number {
    const oldest = this.#options.clock.monotonic() - GONE_AFTER_MS;
    let living = 1;
    for (const seenAt of this.#seenAt.values()) if (seenAt >= oldest) living += 1;
    return living;
  }

  slotsTold(model: string): number {
    return this.#slots.get(model)?.at(this.#options.clock.monotonic()) ?? 0;
  }

  readonly shareLoads = (loads: SharedAccountLoads): void => {
    this.#loads = loads;
    loads.onChange((model, account) => {
      if (this.#seenAt.size === 0) return;
      this.#loadsChanged.set(model, (this.#loadsChanged.get(model) ?? new Set()).add(account));
      this.#gather();
    });
  };

  exchange<Item>({ name, itemsMax, parse, hear, held }: PeerTopic<Item>): ReportItem<Item> {
    const waiting = new Map<string, Item[]>();
    this.#topics.push({
      name,
      waiting,
      held,
      hear(nodeId, raw, how) {
        const items = raw.map(parse).filter((item) => item !== undefined);
        if (items.length > 0) hear(nodeId, items, how);
        return raw.length - items.length;
      },
    });
    return (nodeId, item) => {
      // Without other gateways there is nothing to send: a gateway that starts later asks for all records.
      if (this.#seenAt.size === 0) return;
      const items = waiting.get(nodeId);
      if (items === undefined) waiting.set(nodeId, [item]);
      else if (items.push(item) > itemsMax) items.shift();
      this.#gather();
    };
  }

  close(): void {
    this.#flush();
    for (const stop of this.#stop) stop();
    // Prevents `#gather` from starting the timer again, for example when a node joins during the shutdown.
    this.#stopGathering = () => {};
    this.#send(PEERS_SUBJECT, { bye: true });
  }

  #alive(): void {
    const oldest = this.#options.clock.monotonic() - GONE_AFTER_MS;
    for (const [id, seenAt] of this.#seenAt) if (seenAt < oldest) this.#left(id);
    // Sends the whole state regularly, so that a lost message has no lasting effect. The whole state includes the
    // changes in `#worked`, so they need no message of their own.
    this.#worked.clear();
    this.#loadsChanged.clear();
    this.#send(PEERS_SUBJECT, this.#standing());
  }

  /**
   * Starts the timer that sends observations. It stops when there are none, so that an idle gateway does not wake up.
   */
  #gather(): void {
    this.#stopGathering ??= this.#options.clock.every(GATHER_MS, () => {
      this.#flush();
      if (this.#toAsk.size + this.#worked.size + this.#loadsChanged.size > 0) return;
      if (this.#topics.some(({ waiting }) => waiting.size > 0)) return;
      this.#stopGathering?.();
      this.#stopGathering = undefined;
    });
  }

  #flush(): void {
    // While the dispatch plane is unreachable, observations wait, up to their limits.
    if (this.#options.plane.health.isAway) return;
    const ask = [...this.#toAsk].slice(0, ASKED_MAX);
    for (const id of ask) this.#toAsk.delete(id);
    const news = this.#gathered();
    const work = this.#gatheredWork();
    const accounts = this.#gatheredLoads();
    if (ask.length === 0 && news === undefined && work === undefined && accounts === undefined) return;
    this.#send(PEERS_SUBJECT, {
      ...(ask.length > 0 && { ask }),
      ...(work !== undefined && { work }),
      ...(accounts !== undefined && { accounts }),
      ...(news !== undefined && { news }),
    });
  }

  #gathered(): PeerItemsByTopicAndNode | undefined {
    const news: PeerItemsByTopicAndNode = {};
    let count = 0;
    for (const { name, waiting } of this.#topics) {
      for (const [nodeId, items] of waiting) {
        if (count >= ITEMS_MAX) break;
        news[name] ??= {};
        news[name][nodeId] = items;
        count += items.length;
        waiting.delete(nodeId);
      }
    }
    return count === 0 ? undefined : news;
  }

  #gatheredWork(): PeerMessage["work"] {
    if (this.#worked.size === 0) return undefined;
    const jobs: Record<string, number> = {};
    for (const id of this.#worked) jobs[id] = this.#options.roster.ownWorkOn(id);
    this.#worked.clear();
    return { whole: false, jobs };
  }

  #gatheredLoads(): PeerMessage["accounts"] {
    if (this.#loads === undefined || this.#loadsChanged.size === 0) return undefined;
    const loads: AccountLoadsByModel = {};
    let count = 0;
    for (const [model, accounts] of this.#loadsChanged) {
      for (const account of accounts) {
        if (count++ >= REPORTED_LOADS_MAX) break;
        loads[model] ??= {};
        loads[model][account] = this.#loads.ownOf(model, account);
      }
    }
    // Changes beyond the limit follow when the gateway next sends its whole state.
    this.#loadsChanged.clear();
    return { whole: false, loads };
  }

  /** This gateway's whole state: the slots by model, its jobs by node, and its requests by account. */
  #standing(): Pick<PeerMessage, "slots" | "work" | "accounts"> {
    return {
      slots: this.#countSlots(),
      work: { whole: true, jobs: this.#options.roster.ownWork() },
      accounts: { whole: true, loads: this.#loads?.own() ?? {} },
    };
  }

  #left(from: string): void {
    this.#seenAt.delete(from);
    this.#options.roster.told(from, {}, { whole: true });
    this.#loads?.told(from, {}, { whole: true });
  }

  #receive(payload: Uint8Array): void {
    if (this.#ownOpening.equals(payload.subarray(0, this.#ownOpening.length))) return;
    const message = parsePeerMessage(payload);
    if (message === undefined) {
      this.#log.warn("", {}, "unreadable message from another gateway");
      return;
    }
    const { from, hello, bye, slots, work, accounts, ask } = message;
    const now = this.#options.clock.monotonic();
    if (bye) {
      this.#left(from);
      return;
    }
    this.#seenAt.set(from, now);
    for (const [model, count] of Object.entries(slots ?? {})) this.#noteSlots(model, count, now);
    if (work !== undefined) this.#options.roster.told(from, work.jobs, work);
    if (accounts !== undefined) this.#loads?.told(from, accounts.loads, accounts);
    this.#hear(message, now);
    if (hello) this.#send(peerSubject(from), this.#standing());
    if (ask !== undefined) this.#answer(from, ask);
  }

  #hear({ from, at, news, held }: PeerMessage, now: number): void {
    let unread = 0;
    for (const [told, isHeld] of [
      [news, false],
      [held, true],
    ] as const) {
      for (const [name, nodes] of Object.entries(told ?? {})) {
        const topic = this.#topics.find((one) => one.name === name);
        if (topic === undefined) continue;
        const how = { shiftMs: now - at, isHeld };
        for (const [nodeId, items] of Object.entries(nodes)) unread += topic.hear(nodeId, items, how);
      }
    }
    if (unread > 0)
      this.#log.warn(from, { from, unread }, "ignored the parts of another gateway's message that could not be parsed");
  }

  #answer(to: string, nodeIds: string[]): void {
    let held: PeerItemsByTopicAndNode = {};
    let count = 0;
    const send = (): void => {
      if (count > 0) this.#send(peerSubject(to), { held });
      [held, count] = [{}, 0];
    };
    for (const nodeId of nodeIds) {
      for (const topic of this.#topics) {
        const items = topic.held(nodeId);
        if (items.length === 0) continue;
        held[topic.name] ??= {};
        (held[topic.name] as PeerItemsByTopicAndNode[string])[nodeId] = items;
        count += items.length;
      }
      if (count >= ITEMS_MAX) send();
    }
    send();
  }

  #noteSlots(model: string, count: number, now: number): void {
    const slots = this.#slots.get(model) ?? new RecentMaximum(SLOTS_FOR_MS);
    this.#slots.set(model, slots);
    slots.note(count, now);
  }

  /**
   * Counts only nodes connected to this gateway. If it included other gateways' numbers, gateways would repeat each
   * other's forever.
   */
  #countSlots(): Record<string, number> {
    const slots: Record<string, number> = {};
    for (const node of this.#options.roster.nodes()) {
      if (node.draining) continue;
      for (const model of node.models) slots[model] = (slots[model] ?? 0) + node.slots;
    }
    return slots;
  }

  #send(subject: string, parts: Omit<PeerMessage, "from" | "at">): void {
    const { plane, gatewayId, clock } = this.#options;
    plane.publish(subject, serializePeerMessage({ from: gatewayId, at: clock.monotonic(), ...parts }));
  }
}
