/**
 * The connected nodes. A node reports its models and its maximum of slots. The gateways count its jobs
 * (`outstanding-jobs.ts`); how many slots they use depends on its record and on its responses to offers
 * (`offer-records.ts`). Nodes that left are remembered for a minute (`recently-departed-nodes.ts`). While records cannot be read,
 * the last known ones stay valid.
 */
import type { NodeState } from "@tollgate/protocol/frames.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { UNESTABLISHED_NODE_SLOTS_MAX } from "../base/node-trust-thresholds.ts";
import type { Random } from "../base/random.ts";
import { type RateLimitedLog, rateLimitedLog } from "../base/rate-limited-log.ts";
import type { DispatchPlane } from "../plane/plane.ts";
import { FrameRates } from "./frame-rates.ts";
import { NodeIndex, type RequiredNodeProperties } from "./node-index.ts";
import { type NodeRecord, NodeRecords } from "./node-records.ts";
import { NodeStates } from "./node-states.ts";
import { OfferRecords } from "./offer-records.ts";
import { OutstandingJobs } from "./outstanding-jobs.ts";
import { pickNode } from "./pick-node.ts";
import { ProcessPauses } from "./process-pauses.ts";
import { RecentlyDepartedNodes } from "./recently-departed-nodes.ts";
import {
  applyRecord,
  applyState,
  canServe,
  createRosterNode,
  enforcesSchemaKeywords,
  findSlotLimit,
  meetsRequirements,
  type RosterNode,
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
  /** An index of the same nodes, updated whenever one changes. */
  readonly #index = new NodeIndex<RosterNode>();
  readonly #nodeRecords: NodeRecords;
  readonly #states: NodeStates;
  readonly #options: RosterOptions;
  readonly #changed = new Set<() => void>();
  readonly #joined = new Set<(node: RosterNode) => void>();
  readonly #gone = new Set<(nodeId: string, by: "node" | "plane") => void>();
  readonly #memory: RecentlyDepartedNodes<RosterNode>;
  readonly #stopSweeping: () => void;
  /**
   * The jobs of each node that have not ended. Kept apart from the nodes' entries, so that a report or reconnection of
   * a node does not reset them.
   */
  readonly #outstanding = new OutstandingJobs();
  readonly #conducts = new OfferRecords();
  /** By node ID: cancels the timer for the end of the time in which other nodes are asked before this node. */
  readonly #shuns = new Map<string, () => void>();
  readonly #worked = new Set<(nodeId: string) => void>();

  constructor(options: RosterOptions) {
    this.#options = options;
    const { plane, clock, log } = options;
    this.processPauses = new ProcessPauses(clock);
    this.rates = new FrameRates({ plane, processPauses: this.processPauses, clock, log });
    this.#nodeRecords = new NodeRecords({ read: options.nodeRecord, clock, log });
    this.#memory = new RecentlyDepartedNodes(clock, () => this.#notify());
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
    // Asks the nodes that connected to the plane before this gateway started for their state.
    this.#states.ask();
  }

  /** Whether an able node exists besides the excluded ones: connected (busy or free), or expected back soon. */
  serves(need: RequiredNodeProperties, excluded: ReadonlySet<string>): boolean {
    const isThere =
      this.#index.of(need)?.able.some((node) => !excluded.has(node.id) && meetsRequirements(node, need)) ?? false;
    return isThere || this.#memory.expected().some((node) => canServe(node, need) && !excluded.has(node.id));
  }

  /** The slots of the nodes that serve the model, or did within the last minute. */
  slots(model: string): number {
    const left = this.#memory.all().filter((node) => canServe(node, { model }));
    return left.reduce((sum, node) => sum + node.slots, this.#index.of({ model })?.slots ?? 0);
  }

  /** The capacity and load of the connected nodes that serve the model. */
  capacity(model: string): { nodes: number; slots: number; busy: number } {
    const list = this.#index.of({ model });
    return { nodes: list?.able.size ?? 0, slots: list?.slots ?? 0, busy: list?.busy ?? 0 };
  }

  /** The IDs of the connected nodes that meet the requirements. */
  serving(need: RequiredNodeProperties): string[] {
    return (
      this.#index
        .of(need)
        ?.able.all()
        .filter((node) => enforcesSchemaKeywords(node, need))
        .map(({ id }) => id) ?? []
    );
  }

  /** Chooses a free node that meets the requirements; undefined if all are busy. */
  pick(
    need: RequiredNodeProperties,
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

  /** Counts a job that was sent to the node. `ended` must be called later. */
  sent({ id }: RosterNode): void {
    this.#outstanding.sent(id);
    this.#recount(id);
    for (const run of this.#worked) run(id);
  }

  /** Counts the end of a job. `cancelled`: the engine may take a moment to free the slot. */
  ended({ id }: RosterNode, { cancelled = false } = {}): void {
    if (cancelled) this.#outstanding.cancelled(id, this.#options.clock.monotonic());
    this.#outstanding.ended(id);
    this.#recount(id);
    for (const run of this.#worked) run(id);
    this.#notify();
  }

  /** The number of the node's jobs by the gateways' counts, whether connected or not. */
  outstandingOf(nodeId: string): number {
    return this.#outstanding.of(nodeId);
  }

  /** The number of this gateway's jobs by node ID. */
  ownWork(): Record<string, number> {
    return this.#outstanding.own();
  }

  ownWorkOn(nodeId: string): number {
    return this.#outstanding.ownOf(nodeId);
  }

  /** Calls `run` for every node on which this gateway's number of jobs changed. Returns a function that stops this. */
  onWork(run: (nodeId: string) => void): () => void {
    this.#worked.add(run);
    return () => this.#worked.delete(run);
  }

  /** Handles another gateway's report about its jobs on these nodes. `whole`: it has no jobs on other nodes. */
  told(from: string, jobs: Record<string, number>, { whole }: { whole: boolean }): void {
    const changed = this.#outstanding.told(from, jobs, { whole, now: this.#options.clock.monotonic() });
    for (const id of changed) this.#recount(id);
    if (changed.length > 0) this.#notify();
  }

  /** Whether the node recently had a free slot, given the other gateways' jobs and this gateway's (`own`). */
  hadSlotFree(nodeId: string, { own, slots }: { own: number; slots: number }): boolean {
    return own + this.#outstanding.besidesLately(nodeId, this.#options.clock.monotonic()) < slots;
  }

  /**
   * Handles a node that declined although it had a free slot, or accepted late. Other nodes are asked first; if it
   * replied busy, it also gets fewer slots for a while.
   */
  declined(node: RosterNode, how: "busy" | "late"): void {
    const now = this.#options.clock.monotonic();
    const known = this.#nodes.get(node.id) ?? node;
    // A busy node cannot run more jobs than it has now. A late acceptance shows no such limit, because a burst of
    // offers delays any agent.
    const ran = how === "busy" ? this.#outstanding.of(node.id) : Number.POSITIVE_INFINITY;
    const shunMs = this.#conducts.refused(node.id, ran, now);
    this.#shunUntil(known, now + shunMs);
    this.#assess(known, known.nodeRecord);
    this.#refile(known);
    this.#notify();
  }

  /**
   * Counts the refusals and late acceptances of the node, and of its host's other nodes, from before the node joined.
   */
  carryRefusals(nodeId: string, refusals: number): void {
    const node = this.#nodes.get(nodeId);
    if (refusals === 0 || node === undefined) return;
    const now = this.#options.clock.monotonic();
    this.#shunUntil(node, now + this.#conducts.carry(nodeId, refusals, now));
    this.#assess(node, node.nodeRecord);
    this.#refile(node);
    this.#notify();
  }

  /** Handles a job that ended well. */
  served(node: RosterNode): void {
    node.shunnedUntil = 0;
    this.#conducts.served(node.id, node.nodeRecord.hostAccountId);
  }

  /**
   * Handles a node that the plane cannot reach, or that failed a canary. For a moment, it gets requests only if no
   * other node serves the model.
   */
  shun(node: RosterNode): void {
    this.#shunUntil(node, this.#options.clock.monotonic() + SHUNNED_FOR_MS);
  }

  /**
   * The time until which other nodes are asked first. New nodes share the consequences of failures of their host's
   * other nodes.
   */
  #shunnedUntil({ nodeRecord, shunnedUntil }: RosterNode): number {
    if (findSlotLimit(nodeRecord) > UNESTABLISHED_NODE_SLOTS_MAX) return shunnedUntil;
    return Math.max(shunnedUntil, this.#conducts.shunnedUntil(nodeRecord.hostAccountId));
  }

  /** Handles a failed or slow job. Other nodes are asked first, for longer each time, until a job ends well. */
  failed(node: RosterNode, how: "failed" | "crawled"): void {
    const now = this.#options.clock.monotonic();
    this.#shunUntil(node, this.#conducts.failed(node.id, node.nodeRecord.hostAccountId, how, now));
  }

  /**
   * Sets the time until which other nodes are asked first. Then wakes waiting requests, because the node may be free.
   */
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

  /** Resolves once the node is connected and allowed to work. */
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

  /** Calls `run` for every node that joins. */
  onJoin(run: (node: RosterNode) => void): void {
    this.#joined.add(run);
  }

  /**
   * Calls `run` for every node whose connection ended. The node's requests are then lost. `by`: whether the node or the
   * plane ended the connection. After an outage of the plane, `run` is called only for nodes that do not reconnect
   * within a minute.
   */
  onGone(run: (nodeId: string, by: "node" | "plane") => void): () => void {
    this.#gone.add(run);
    return () => this.#gone.delete(run);
  }

  /** Calls `run` with every state before it is applied. Returns a function that stops this. */
  onState(run: (nodeId: string, state: NodeState) => void): () => void {
    return this.#states.onState(run);
  }

  /**
   * Reads the record of a node (or of all nodes) again after a change. A node that is no longer allowed to work gets no
   * more offers, and finishes its jobs.
   */
  async review(id?: string): Promise<void> {
    const ids = this.#nodeRecords.changed(id);
    await Promise.all(ids.map((known) => this.#review(known)));
    // Asks for states, so that nodes that are allowed to work again report at once.
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
    const node = known ?? remembered?.node ?? createRosterNode(id, nodeRecord);
    applyState(node, state, this.#options.clock.monotonic());
    this.#assess(node, nodeRecord);
    node.outstanding = this.#outstanding.of(id);
    if (known === undefined) this.#nodes.set(id, node);
    this.#refile(node);
    if (known === undefined) {
      // After an outage of the plane, one line is logged for all nodes instead of one per node.
      if (remembered?.away !== true)
        this.#log.info(id, { node: id, models: [...node.models], slots: node.slots }, "node online");
      for (const run of this.#joined) run(node);
    }
    this.#notify();
  }

  /** Handles a repeated state. Returns false if the node is not connected yet, or its record must be read again. */
  #sawAgain(id: string): boolean {
    const node = this.#nodes.get(id);
    if (node === undefined || !this.#nodeRecords.isFresh(id)) return false;
    node.seenAt = this.#options.clock.monotonic();
    return true;
  }

  #dropStale(): void {
    // After a pause of this process, nodes' reports may still wait unread in the socket. So silent nodes are not
    // dropped, and all nodes are asked to report their state again.
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

  /** Handles an outage of the plane. The nodes themselves have not left. */
  #away(): void {
    this.#states.dropAll();
    this.#memory.away(this.nodes());
    for (const node of this.nodes()) this.#index.remove(node);
    this.#nodes.clear();
    this.#notify();
  }

  /** Removes a node that is no longer allowed to work. */
  #bar(id: string): void {
    this.#memory.take(id);
    this.#withdraw(id);
  }

  /** Stops offering requests to the node. */
  #withdraw(id: string): void {
    const node = this.#nodes.get(id);
    if (node === undefined) return;
    this.#nodes.delete(id);
    this.#index.remove(node);
    this.#log.info(id, { node: id }, "node offline");
    this.#notify();
  }

  /** Gradually restores the slots that nodes lost by declining. */
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

  /** Updates the index, unless the node has left. */
  #refile(node: RosterNode): void {
    if (this.#nodes.get(node.id) === node) this.#index.file(node);
  }

  #notify(): void {
    for (const run of [...this.#changed]) run();
  }
}

interface RosterOptions {
  plane: DispatchPlane;
  clock: Clock;
  random: Random;
  log: Log;
  /** Reads the node's record; undefined if the node is not allowed to work. */
  nodeRecord: (nodeId: string) => Promise<NodeRecord | undefined>;
}
