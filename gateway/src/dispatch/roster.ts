/**
 * The nodes that are connected now, as their own state frames describe them and the fleet's records allow. A node is the
 * authority on its slots; between its reports the gateway adds what it sent there itself. Nodes that left are remembered for
 * a minute (`memory.ts`). Records that cannot be read leave what they said last in force.
 */
import type { NodeState } from "@tollgate/protocol/frames.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import { type SparingLog, sparingLog } from "../base/sparing-log.ts";
import type { Plane } from "../plane/plane.ts";
import { pickNode } from "./choice.ts";
import { FrameRates } from "./frame-rates.ts";
import { Licences, type NodeLicence } from "./licences.ts";
import { NodeMemory } from "./memory.ts";
import { NodeStates } from "./node-states.ts";
import { OwnStops } from "./own-stops.ts";
import { applyLicence, applyState, isAble, isProven, newRosterNode, type RosterNode } from "./roster-node.ts";
import { type Need, Shelves } from "./shelves.ts";

const STALE_AFTER_MS = 15_000;
const SWEEP_EVERY_MS = STALE_AFTER_MS / 3;
const SHUNNED_FOR_MS = 10_000;

export class Roster {
  readonly ownStops: OwnStops;
  /** How much each node may say. */
  readonly rates: FrameRates;
  readonly #log: SparingLog;
  readonly #nodes = new Map<string, RosterNode>();
  /** The same nodes: filed again whenever one of them changes. */
  readonly #shelves = new Shelves<RosterNode>();
  readonly #licences: Licences;
  readonly #states: NodeStates;
  readonly #options: RosterOptions;
  readonly #changed = new Set<() => void>();
  readonly #joined = new Set<(node: RosterNode) => void>();
  readonly #gone = new Set<(nodeId: string, by: "node" | "plane") => void>();
  readonly #memory: NodeMemory<RosterNode>;
  readonly #stopSweeping: () => void;
  /** How many jobs this gateway has on each node, whatever the node says of it and however often it comes and goes. */
  readonly #inFlight = new Map<string, number>();

  constructor(options: RosterOptions) {
    this.#options = options;
    const { plane, clock, log } = options;
    this.ownStops = new OwnStops(clock);
    this.rates = new FrameRates({ plane, ownStops: this.ownStops, clock, log });
    this.#licences = new Licences({ read: options.licence, clock, log });
    this.#memory = new NodeMemory(clock, () => this.#notify());
    this.#log = sparingLog(log, clock);
    this.#states = new NodeStates({
      plane,
      rates: this.rates,
      licences: this.#licences,
      clock,
      log: this.#log,
      apply: (id, licence, state) => {
        if (licence === undefined) this.#bar(id);
        else this.#update(id, licence, state);
      },
    });
    this.#stopSweeping = clock.every(SWEEP_EVERY_MS, () => this.#dropStale());
    plane.onNodeGone((id, by) => this.#lost(id, by));
    plane.onAway(() => this.#away());
    plane.onBack(() => this.#memory.back());
    // Nodes connected to the plane before this gateway started report at once.
    this.#states.ask();
  }

  /** Whether any node but the excluded ones is able, busy or not: one that is connected, or will be in a moment. */
  serves(need: Need, excluded: ReadonlySet<string>): boolean {
    const isThere = this.#shelves.of(need)?.able.some((node) => !excluded.has(node.id) && suits(node, need)) ?? false;
    return isThere || this.#memory.expected().some((node) => isAble(node, need) && !excluded.has(node.id));
  }

  /** The slots of all nodes that serve the model, and of those that did so a minute ago. */
  slots(model: string): number {
    const left = this.#memory.all().filter((node) => isAble(node, { model }));
    return left.reduce((sum, node) => sum + node.slots, this.#shelves.of({ model })?.slots ?? 0);
  }

  /** What the connected nodes that serve the model can do, and do now. */
  capacity(model: string): { nodes: number; slots: number; busy: number } {
    const shelf = this.#shelves.of({ model });
    return { nodes: shelf?.able.size ?? 0, slots: shelf?.slots ?? 0, busy: shelf?.busy ?? 0 };
  }

  /** The ids of the connected nodes that are able. */
  serving(need: Need): string[] {
    return (
      this.#shelves
        .of(need)
        ?.able.all()
        .map(({ id }) => id) ?? []
    );
  }

  /** A free node of those that are able; undefined when all are busy. */
  pick(need: Need, excluded: ReadonlySet<string>, ttftMs: (nodeId: string) => number | null): RosterNode | undefined {
    const shelf = this.#shelves.of(need);
    if (shelf === undefined) return undefined;
    const { clock, plane, random } = this.#options;
    const now = clock.monotonic();
    const isAsked = (node: RosterNode): boolean => !excluded.has(node.id) && suits(node, need);
    const isTrusted = (node: RosterNode): boolean => isAsked(node) && node.shunnedUntil <= now;
    const isReached = (node: RosterNode): boolean => isAsked(node) && plane.reaches(node.id);
    return pickNode(shelf, [isTrusted, isReached, isAsked], { ttftMs: ({ id }) => ttftMs(id), random });
  }

  /** A job was sent to the node, or one that was ended. */
  sent(node: RosterNode): void {
    node.outstanding += 1;
    this.#refile(node);
    this.#inFlight.set(node.id, (this.#inFlight.get(node.id) ?? 0) + 1);
  }

  ended(node: RosterNode): void {
    // It may have left and come back since the job was sent.
    const now = this.#nodes.get(node.id) ?? node;
    now.outstanding = Math.max(0, now.outstanding - 1);
    this.#refile(now);
    const left = (this.#inFlight.get(node.id) ?? 1) - 1;
    if (left > 0) this.#inFlight.set(node.id, left);
    else this.#inFlight.delete(node.id);
    this.#notify();
  }

  /** The node fell silent: for a moment it gets work only if nobody else serves the model. */
  shun(node: RosterNode): void {
    node.shunnedUntil = this.#options.clock.monotonic() + SHUNNED_FOR_MS;
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

  /** `run` hears of every node that starts to take requests. */
  onJoin(run: (node: RosterNode) => void): void {
    this.#joined.add(run);
  }

  /**
   * `run` hears of every node that lost its connection, and whose doing it was: what it ran is lost. While the plane itself is
   * away, nodes are gone when they have not come back in a minute.
   */
  onGone(run: (nodeId: string, by: "node" | "plane") => void): () => void {
    this.#gone.add(run);
    return () => this.#gone.delete(run);
  }

  /** `run` hears every state that a node tells, before it takes effect here, until it asks not to. */
  onState(run: (nodeId: string, state: NodeState) => void): () => void {
    return this.#states.onState(run);
  }

  /**
   * The records of a node (of any node, when undefined) changed: they are read again. A node that may not work any more is
   * offered nothing new; what it runs, it finishes.
   */
  async review(id?: string): Promise<void> {
    const ids = this.#licences.changed(id);
    await Promise.all(ids.map((known) => this.#review(known)));
    // Those that may work again report at once.
    this.#states.ask();
  }

  async #review(id: string): Promise<void> {
    const licence = await this.#licences.of(id);
    if (licence === undefined) return this.#bar(id);
    const node = this.#nodes.get(id);
    if (node === undefined) return;
    applyLicence(node, licence);
    this.#refile(node);
    this.#notify();
  }

  close(): void {
    this.#states.close();
    this.#stopSweeping();
    this.ownStops.close();
    this.#memory.close();
  }

  #update(id: string, licence: NodeLicence, state: NodeState): void {
    const known = this.#nodes.get(id);
    const remembered = this.#memory.take(id);
    const node = known ?? remembered?.node ?? newRosterNode(id, licence);
    node.licence = licence;
    applyState(node, state, this.#inFlight.get(id) ?? 0, this.#options.clock.monotonic());
    if (known === undefined) this.#nodes.set(id, node);
    this.#refile(node);
    if (known === undefined) {
      // When the plane was away and is back, that is said once.
      if (remembered?.away !== true)
        this.#log.info(id, { node: id, models: [...node.models], slots: node.slots }, "node online");
      for (const run of this.#joined) run(node);
    }
    this.#notify();
  }

  #dropStale(): void {
    // What nodes said meanwhile lies in the socket, or is said when they are asked.
    if (this.ownStops.wasStopped) {
      this.#states.ask();
      return;
    }
    const now = this.#options.clock.monotonic();
    for (const node of this.#nodes.values()) if (node.seenAt < now - STALE_AFTER_MS) this.#lost(node.id, "node");
    for (const id of this.#memory.expire()) this.#tellGone(id, "plane");
    this.#licences.sweep((id) => this.#nodes.has(id));
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

  /** No node can be reached, and none has left. */
  #away(): void {
    this.#states.dropAll();
    this.#memory.away(this.nodes());
    for (const node of this.nodes()) this.#shelves.remove(node);
    this.#nodes.clear();
    this.#notify();
  }

  /** It may not work any more. */
  #bar(id: string): void {
    this.#memory.take(id);
    this.#withdraw(id);
  }

  /** Offers it nothing more. */
  #withdraw(id: string): void {
    const node = this.#nodes.get(id);
    if (node === undefined) return;
    this.#nodes.delete(id);
    this.#shelves.remove(node);
    this.#log.info(id, { node: id }, "node offline");
    this.#notify();
  }

  /** One that left meanwhile stays away. */
  #refile(node: RosterNode): void {
    if (this.#nodes.get(node.id) === node) this.#shelves.file(node);
  }

  #notify(): void {
    for (const run of [...this.#changed]) run();
  }
}

/** What the shelves do not know. */
const suits = (node: RosterNode, { proven = false }: Need): boolean => !proven || isProven(node);

interface RosterOptions {
  plane: Plane;
  clock: Clock;
  random: Random;
  log: Log;
  /** What the records allow a node; undefined when it may not work at all. */
  licence: (nodeId: string) => Promise<NodeLicence | undefined>;
}
