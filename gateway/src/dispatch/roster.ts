/**
 * The connected nodes. A node reports its models and its maximum of slots; its jobs are counted by the gateways (`outstanding.ts`), and the
 * number of slots in use depends on its record and its responses to offers (`conduct.ts`). Nodes that left are remembered for a minute
 * (`memory.ts`). When records cannot be read, the last known ones stay in force.
 */
import type { NodeState } from "@tollgate/protocol/frames.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { SLOTS_OF_NEW_MAX } from "../base/node-thresholds.ts";
import type { Random } from "../base/random.ts";
import { type RateLimitedLog, rateLimitedLog } from "../base/rate-limited-log.ts";
import type { Plane } from "../plane/plane.ts";
import { pickNode } from "./choice.ts";
import { OfferRecords } from "./conduct.ts";
import { FrameRates } from "./frame-rates.ts";
import { NodeMemory } from "./memory.ts";
import { NodeIndex, type NodeRequirements } from "./node-index.ts";
import { type NodeRecord, NodeRecords } from "./node-records.ts";
import { NodeStates } from "./node-states.ts";
import { OutstandingJobs } from "./outstanding.ts";
import { ProcessPauses } from "./process-pauses.ts";
import {
  applyRecord,
  applyState,
  isAble,
  keepsKeywords,
  meetsRequirements,
  newRosterNode,
  type RosterNode,
  slotsTrusted,
} from "./roster-node.ts";

const STALE_AFTER_MS = 15_000;
const SWEEP_EVERY_MS = STALE_AFTER_MS / 3;
const SHUNNED_FOR_MS = 10_000;

export class Roster {
  readonly processPauses: ProcessPauses;
  /** Limits how much each node may send. */
  readonly rates: FrameRates;
  readonly #log: RateLimitedLog;
  readonly #nodes = new Map<string, RosterNode>();
  /** The same nodes, filed again whenever one changes. */
  readonly #index = new NodeIndex<RosterNode>();
  readonly #nodeRecords: NodeRecords;
  readonly #states: NodeStates;
  readonly #options: RosterOptions;
  readonly #changed = new Set<() => void>();
  readonly #joined = new Set<(node: RosterNode) => void>();
  readonly #gone = new Set<(nodeId: string, by: "node" | "plane") => void>();
  readonly #memory: NodeMemory<RosterNode>;
  readonly #stopSweeping: () => void;
  /** Independent of nodes' reports and reconnections. */
  readonly #outstanding = new OutstandingJobs();
  readonly #conducts = new OfferRecords();
  /** The timers of nodes that are asked after all others. */
  readonly #shuns = new Map<string, () => void>();
  readonly #worked = new Set<(nodeId: string) => void>();

  constructor(options: RosterOptions) {
    this.#options = options;
    const { plane, clock, log } = options;
    this.processPauses = new ProcessPauses(clock);
    this.rates = new FrameRates({ plane, processPauses: this.processPauses, clock, log });
    this.#nodeRecords = new NodeRecords({ read: options.nodeRecord, clock, log });
    this.#memory = new NodeMemory(clock, () => this.#notify());
    this.#log = rateLimitedLog(log, clock);
    this.#states = new NodeStates({
      plane,
      rates: this.rates,
      nodeRecords: this.#nodeRecords,
      clock,
      log: this.#log,
      apply: (id, nodeRecord, state) => {
        if (nodeRecord === undefined) this.#bar(id);
        else this.#update(id, nodeRecord, state);
      },
      unchanged: (id) => this.#sawAgain(id),
    });
    this.#stopSweeping = clock.every(SWEEP_EVERY_MS, () => this.#dropStale());
    plane.onNodeGone((id, by) => this.#lost(id, by));
    plane.onAway(() => this.#away());
    plane.onBack(() => this.#memory.back());
    // Nodes connected to the plane before this gateway started report at once.
    this.#states.ask();
  }

  /** Whether a node that is not excluded is able, busy or not: connected, or expected in a moment. */
  serves(need: NodeRequirements, excluded: ReadonlySet<string>): boolean {
    const isThere =
      this.#index.of(need)?.able.some((node) => !excluded.has(node.id) && meetsRequirements(node, need)) ?? false;
    return isThere || this.#memory.expected().some((node) => isAble(node, need) && !excluded.has(node.id));
  }

  /** The slots of the nodes that serve the model, or did so a minute ago. */
  slots(model: string): number {
    const left = this.#memory.all().filter((node) => isAble(node, { model }));
    return left.reduce((sum, node) => sum + node.slots, this.#index.of({ model })?.slots ?? 0);
  }

  /** The capacity and load of the connected nodes that serve the model. */
  capacity(model: string): { nodes: number; slots: number; busy: number } {
    const list = this.#index.of({ model });
    return { nodes: list?.able.size ?? 0, slots: list?.slots ?? 0, busy: list?.busy ?? 0 };
  }

  /** The ids of the connected nodes that are able. */
  serving(need: NodeRequirements): string[] {
    return (
      this.#index
        .of(need)
        ?.able.all()
        .filter((node) => keepsKeywords(node, need))
        .map(({ id }) => id) ?? []
    );
  }

  /** A free able node; undefined when all are busy. */
  pick(
    need: NodeRequirements,
    excluded: ReadonlySet<string>,
    ttftMs: (nodeId: string) => number | null,
  ): RosterNode | undefined {
    const list = this.#index.of(need);
    if (list === undefined) return undefined;
    const { clock, plane, random } = this.#options;
    const now = clock.monotonic();
    const isAsked = (node: RosterNode): boolean => !excluded.has(node.id) && meetsRequirements(node, need);
    const isTrusted = (node: RosterNode): boolean => isAsked(node) && this.#shunnedUntil(node) <= now;
    const isReached = (node: RosterNode): boolean => isAsked(node) && plane.reaches(node.id);
    return pickNode(list, [isTrusted, isReached, isAsked], { ttftMs: ({ id }) => ttftMs(id), random });
  }

  /** A job was sent to the node; `ended` undoes it. */
  sent({ id }: RosterNode): void {
    this.#outstanding.sent(id);
    this.#recount(id);
    for (const run of this.#worked) run(id);
  }

  /** `cancelled`: the engine may take a moment to free the slot. */
  ended({ id }: RosterNode, { cancelled = false } = {}): void {
    if (cancelled) this.#outstanding.cancelled(id, this.#options.clock.monotonic());
    this.#outstanding.ended(id);
    this.#recount(id);
    for (const run of this.#worked) run(id);
    this.#notify();
  }

  /** The node's jobs by the gateways' records, connected or not. */
  outstandingOf(nodeId: string): number {
    return this.#outstanding.of(nodeId);
  }

  /** This gateway's jobs: by node, or on one of them. */
  ownWork(): Record<string, number> {
    return this.#outstanding.own();
  }

  ownWorkOn(nodeId: string): number {
    return this.#outstanding.ownOf(nodeId);
  }

  /** Calls `run` with every node on which this gateway's work changed. Returns the function that ends it. */
  onWork(run: (nodeId: string) => void): () => void {
    this.#worked.add(run);
    return () => this.#worked.delete(run);
  }

  /** Another gateway reported its jobs on these nodes. `whole`: and none on any other. */
  told(from: string, jobs: Record<string, number>, { whole }: { whole: boolean }): void {
    const changed = this.#outstanding.told(from, jobs, { whole, now: this.#options.clock.monotonic() });
    for (const id of changed) this.#recount(id);
    if (changed.length > 0) this.#notify();
  }

  /** Whether the node recently had a free slot, given the other gateways' work and this gateway's `own`. */
  hadSlotFree(nodeId: string, { own, slots }: { own: number; slots: number }): boolean {
    return own + this.#outstanding.besidesLately(nodeId, this.#options.clock.monotonic()) < slots;
  }

  /**
   * The node declined although it had a slot, or accepted late. It is asked after all others; if it reported busy, it also gets fewer slots
   * for a while.
   */
  declined(node: RosterNode, how: "busy" | "late"): void {
    const now = this.#options.clock.monotonic();
    const known = this.#nodes.get(node.id) ?? node;
    // A late acceptance is no evidence about capacity: a burst delays any agent.
    const ran = how === "busy" ? this.#outstanding.of(node.id) : Number.POSITIVE_INFINITY;
    const shunMs = this.#conducts.refused(node.id, ran, now);
    this.#shunUntil(known, now + shunMs);
    this.#assess(known, known.nodeRecord);
    this.#refile(known);
    this.#notify();
  }

  /** A job of the node ended well. */
  served(node: RosterNode): void {
    node.shunnedUntil = 0;
    this.#conducts.served(node.id, node.nodeRecord.hostAccountId);
  }

  /** The plane cannot reach the node. For a moment it gets work only if no other node serves the model. */
  shun(node: RosterNode): void {
    this.#shunUntil(node, this.#options.clock.monotonic() + SHUNNED_FOR_MS);
  }

  /** After a failure the host's nodes without a record of their own share the consequence. */
  #shunnedUntil({ nodeRecord, shunnedUntil }: RosterNode): number {
    if (slotsTrusted(nodeRecord) > SLOTS_OF_NEW_MAX) return shunnedUntil;
    return Math.max(shunnedUntil, this.#conducts.shunnedUntil(nodeRecord.hostAccountId));
  }

  /** The node failed a job or was slow. It is asked last, for longer each time, until a job ends well. */
  failed(node: RosterNode, how: "failed" | "crawled"): void {
    const now = this.#options.clock.monotonic();
    this.#shunUntil(node, this.#conducts.failed(node.id, node.nodeRecord.hostAccountId, how, now));
  }

  /** Wakes waiting requests at the end of that time: the node may have been free all along. */
  #shunUntil(node: RosterNode, until: number): void {
    const { clock } = this.#options;
    const known = this.#nodes.get(node.id) ?? node;
    known.shunnedUntil = Math.max(known.shunnedUntil, until);
    this.#shuns.get(node.id)?.();
    const stop = clock.after(known.shunnedUntil - clock.monotonic(), () => {
      this.#shuns.delete(node.id);
      this.#notify();
    });
    this.#shuns.set(node.id, stop);
  }

  /** Resolves once the node is connected and may work. */
  async online(id: string): Promise<void> {
    while (!this.#nodes.has(id)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const forget = this.onChange(resolve);
      await promise;
      forget();
    }
  }

  find(id: string): RosterNode | undefined {
    return this.#nodes.get(id);
  }

  nodes(): RosterNode[] {
    return [...this.#nodes.values()];
  }

  onChange(run: () => void): () => void {
    this.#changed.add(run);
    return () => this.#changed.delete(run);
  }

  /** Calls `run` for every node that starts to take requests. */
  onJoin(run: (node: RosterNode) => void): void {
    this.#joined.add(run);
  }

  /**
   * Calls `run` for every node whose connection ended, with whether the node or the plane caused it; its requests are lost. During an
   * outage of the plane a node counts as gone if it has not reconnected within a minute.
   */
  onGone(run: (nodeId: string, by: "node" | "plane") => void): () => void {
    this.#gone.add(run);
    return () => this.#gone.delete(run);
  }

  /** Calls `run` with every state before it takes effect. Returns the function that ends it. */
  onState(run: (nodeId: string, state: NodeState) => void): () => void {
    return this.#states.onState(run);
  }

  /**
   * Reads the records of a node (of all nodes, when undefined) again after a change. A node that may not work any more gets no new offers
   * and finishes its jobs.
   */
  async review(id?: string): Promise<void> {
    const ids = this.#nodeRecords.changed(id);
    await Promise.all(ids.map((known) => this.#review(known)));
    // Nodes that may work again report at once.
    this.#states.ask();
  }

  async #review(id: string): Promise<void> {
    const nodeRecord = await this.#nodeRecords.of(id);
    if (nodeRecord === undefined) return this.#bar(id);
    const node = this.#nodes.get(id);
    if (node === undefined) return;
    this.#assess(node, nodeRecord);
    this.#refile(node);
    this.#notify();
  }

  close(): void {
    this.#states.close();
    this.#stopSweeping();
    for (const stop of this.#shuns.values()) stop();
    this.processPauses.close();
    this.#memory.close();
  }

  #update(id: string, nodeRecord: NodeRecord, state: NodeState): void {
    const known = this.#nodes.get(id);
    const remembered = this.#memory.take(id);
    const node = known ?? remembered?.node ?? newRosterNode(id, nodeRecord);
    applyState(node, state, this.#options.clock.monotonic());
    this.#assess(node, nodeRecord);
    node.outstanding = this.#outstanding.of(id);
    if (known === undefined) this.#nodes.set(id, node);
    this.#refile(node);
    if (known === undefined) {
      // After an outage of the plane a single line is logged.
      if (remembered?.away !== true)
        this.#log.info(id, { node: id, models: [...node.models], slots: node.slots }, "node online");
      for (const run of this.#joined) run(node);
    }
    this.#notify();
  }

  /** Returns false when the node is not connected yet, or its record is due to be read again. */
  #sawAgain(id: string): boolean {
    const node = this.#nodes.get(id);
    if (node === undefined || !this.#nodeRecords.isFresh(id)) return false;
    node.seenAt = this.#options.clock.monotonic();
    return true;
  }

  #dropStale(): void {
    // Reports from that time are still in the socket, or come when nodes are asked.
    if (this.processPauses.wasStopped) {
      this.#states.ask();
      return;
    }
    const now = this.#options.clock.monotonic();
    for (const node of this.#nodes.values()) if (node.seenAt < now - STALE_AFTER_MS) this.#lost(node.id, "node");
    for (const id of this.#memory.expire()) this.#tellGone(id, "plane");
    this.#nodeRecords.sweep((id) => this.#nodes.has(id));
    this.#outstanding.sweep(now);
    this.#conducts.sweep(now);
    this.#giveBackSlots();
  }

  #lost(id: string, by: "node" | "plane"): void {
    this.#states.drop(id);
    this.rates.gone(id);
    const node = this.#nodes.get(id);
    if (node !== undefined) this.#memory.left(node, by);
    this.#withdraw(id);
    this.#tellGone(id, by);
  }

  #tellGone(id: string, by: "node" | "plane"): void {
    for (const run of this.#gone) run(id, by);
  }

  /** The plane is unreachable; the nodes have not left. */
  #away(): void {
    this.#states.dropAll();
    this.#memory.away(this.nodes());
    for (const node of this.nodes()) this.#index.remove(node);
    this.#nodes.clear();
    this.#notify();
  }

  /** The node may not work any more. */
  #bar(id: string): void {
    this.#memory.take(id);
    this.#withdraw(id);
  }

  /** Stops offering it work. */
  #withdraw(id: string): void {
    const node = this.#nodes.get(id);
    if (node === undefined) return;
    this.#nodes.delete(id);
    this.#index.remove(node);
    this.#log.info(id, { node: id }, "node offline");
    this.#notify();
  }

  /** Restores slots that nodes lost by declining. */
  #giveBackSlots(): void {
    let changed = false;
    for (const node of this.#nodes.values()) {
      const { slots, inGoodStanding } = node;
      this.#assess(node, node.nodeRecord);
      if (node.slots === slots && node.inGoodStanding === inGoodStanding) continue;
      changed = true;
      this.#refile(node);
    }
    if (changed) this.#notify();
  }

  #assess(node: RosterNode, nodeRecord: NodeRecord): void {
    const now = this.#options.clock.monotonic();
    const refusals = this.#conducts.refusalsOf(node.id, now);
    applyRecord(node, nodeRecord, { refusals, slotsMax: this.#conducts.slotsMax(node.id, now) });
  }

  #recount(id: string): void {
    const node = this.#nodes.get(id);
    if (node === undefined) return;
    node.outstanding = this.#outstanding.of(id);
    this.#refile(node);
  }

  /** A node that left meanwhile stays gone. */
  #refile(node: RosterNode): void {
    if (this.#nodes.get(node.id) === node) this.#index.file(node);
  }

  #notify(): void {
    for (const run of [...this.#changed]) run();
  }
}

interface RosterOptions {
  plane: Plane;
  clock: Clock;
  random: Random;
  log: Log;
  /** The node's record; undefined when it may not work at all. */
  nodeRecord: (nodeId: string) => Promise<NodeRecord | undefined>;
}
