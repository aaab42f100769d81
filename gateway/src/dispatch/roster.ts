/**
 * The nodes that are connected now, as their own state frames describe them and the fleet's records allow. A node is the
 * authority on its slots; between its reports the gateway adds what it sent there itself. Nodes that left are remembered for
 * a minute (`memory.ts`). Records that cannot be read leave what they said last in force.
 */
import { decode, FrameError } from "@tollgate/protocol/codec.ts";
import type { NodeState } from "@tollgate/protocol/frames.ts";
import { ALL_NODE_STATES, STATE_REQUEST, senderOf } from "@tollgate/protocol/subjects.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import { type SparingLog, sparingLog } from "../base/sparing-log.ts";
import type { Plane } from "../plane/plane.ts";
import { chooseNode } from "./choice.ts";
import { FrameRates } from "./frame-rates.ts";
import { Licences, type NodeLicence } from "./licences.ts";
import { NodeMemory } from "./memory.ts";
import { OwnStops } from "./own-stops.ts";
import { type Need, Shelves } from "./shelves.ts";

export interface RosterNode {
  /** As it stands in subjects: `node_…`. */
  id: string;
  licence: NodeLicence;
  /** What it says it can serve, and of these what its host elected. */
  reported: string[];
  models: Set<string>;
  /** The models for which it says that its engine keeps to an output format. */
  formats: Set<string>;
  /** How many jobs it says it can run at once, and how many of them it is trusted with. */
  reportedSlots: number;
  slots: number;
  /** What the node last said it runs, plus what was sent since, minus what ended since. */
  outstanding: number;
  draining: boolean;
  seenAt: number;
  /** It left a job without a sign of life: until then others are asked first. */
  shunnedUntil: number;
}

const STALE_AFTER_MS = 15_000;
const SWEEP_EVERY_MS = STALE_AFTER_MS / 3;
const SHUNNED_FOR_MS = 10_000;
/** Every node answers when it is asked for its state: hosts who change their records all the time must not make them. */
const ASK_EVERY_MS = 250;

export class Roster {
  readonly ownStops: OwnStops;
  /** How much each node may say. */
  readonly rates: FrameRates;
  readonly #log: SparingLog;
  readonly #nodes = new Map<string, RosterNode>();
  /** The same nodes: filed again whenever one of them changes. */
  readonly #shelves = new Shelves<RosterNode>();
  readonly #licences: Licences;
  readonly #options: RosterOptions;
  readonly #changed = new Set<() => void>();
  readonly #joined = new Set<(node: RosterNode) => void>();
  readonly #gone = new Set<(nodeId: string, by: "node" | "plane") => void>();
  readonly #reported = new Set<(nodeId: string, state: NodeState) => void>();
  readonly #memory: NodeMemory<RosterNode>;
  readonly #stop: (() => void)[] = [];
  /** The newest state of each node that waits for what the records say of it. */
  readonly #waiting = new Map<string, { state: NodeState }>();
  /** What this gateway has under way on each node, whatever the node says of it and however often it comes and goes. */
  readonly #underWay = new Map<string, number>();
  #asking = false;
  #askAgain = false;
  #stopAsking = (): void => {};

  constructor(options: RosterOptions) {
    this.#options = options;
    const { plane, clock, log } = options;
    this.ownStops = new OwnStops(clock);
    this.rates = new FrameRates({ plane, ownStops: this.ownStops, clock, log });
    this.#licences = new Licences({ read: options.licence, clock, log });
    this.#memory = new NodeMemory(clock, () => this.#notify());
    this.#log = sparingLog(log, clock);
    this.#stop.push(
      plane.subscribe(ALL_NODE_STATES, (subject, payload) => {
        this.#receive(subject, payload).catch((error) => {
          this.#log.error("", { node: senderOf(subject), err: error }, "reading a node's state failed");
        });
      }),
      clock.every(SWEEP_EVERY_MS, () => this.#dropStale()),
    );
    plane.onNodeGone((id, by) => this.#lost(id, by));
    plane.onAway(() => this.#away());
    plane.onBack(() => this.#memory.back());
    // Nodes connected to the plane before this gateway started report at once.
    this.#ask();
  }

  /** Whether any node but the excluded ones is able, busy or not: one that is connected, or will be in a moment. */
  serves(need: Need, excluded: ReadonlySet<string>): boolean {
    const isThere = this.#shelves.of(need)?.able.some(({ id }) => !excluded.has(id)) ?? false;
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
    const isAsked = (node: RosterNode): boolean => !excluded.has(node.id);
    const isTrusted = (node: RosterNode): boolean => isAsked(node) && node.shunnedUntil <= now;
    const isReached = (node: RosterNode): boolean => isAsked(node) && plane.reaches(node.id);
    // Where one will do that is busy, it is waited for: those after it are asked only when there is none.
    for (const mayServe of [isTrusted, isReached, isAsked]) {
      const node = chooseNode(shelf.free, { mayServe, ttftMs: ({ id }) => ttftMs(id), random });
      if (node !== undefined || shelf.able.some(mayServe)) return node;
    }
    return undefined;
  }

  /** A job was sent to the node, or one that was ended. */
  sent(node: RosterNode): void {
    node.outstanding += 1;
    this.#refile(node);
    this.#underWay.set(node.id, (this.#underWay.get(node.id) ?? 0) + 1);
  }

  ended(node: RosterNode): void {
    // It may have left and come back since the job was sent.
    const now = this.#nodes.get(node.id) ?? node;
    now.outstanding = Math.max(0, now.outstanding - 1);
    this.#refile(now);
    const left = (this.#underWay.get(node.id) ?? 1) - 1;
    if (left > 0) this.#underWay.set(node.id, left);
    else this.#underWay.delete(node.id);
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
    this.#reported.add(run);
    return () => this.#reported.delete(run);
  }

  /**
   * The records of a node (of any node, when undefined) changed: they are read again. A node that may not work any more is
   * offered nothing new; what it runs, it finishes.
   */
  async review(id?: string): Promise<void> {
    const ids = this.#licences.changed(id);
    await Promise.all(ids.map((known) => this.#review(known)));
    // Those that may work again report at once.
    this.#ask();
  }

  /** Asks every node for its state: at once, and within a moment when it was done just now. */
  #ask(): void {
    if (this.#asking) {
      this.#askAgain = true;
      return;
    }
    this.#asking = true;
    this.#askAgain = false;
    this.#options.plane.publish(STATE_REQUEST, new Uint8Array(0));
    this.#stopAsking = this.#options.clock.after(ASK_EVERY_MS, () => {
      this.#asking = false;
      if (this.#askAgain) this.#ask();
    });
  }

  async #review(id: string): Promise<void> {
    const licence = await this.#licences.of(id);
    if (licence === undefined) return this.#bar(id);
    const node = this.#nodes.get(id);
    if (node === undefined) return;
    node.licence = licence;
    node.models = elected(node.reported, licence);
    node.slots = trustedSlots(node.reportedSlots, licence);
    this.#refile(node);
    this.#notify();
  }

  close(): void {
    for (const stop of this.#stop) stop();
    this.ownStops.close();
    this.#stopAsking();
    this.#memory.close();
  }

  async #receive(subject: string, payload: Uint8Array): Promise<void> {
    const id = senderOf(subject);
    // Before anything is read of it: what is too much must cost next to nothing.
    if (id === undefined || !this.rates.count(id, "states")) return;
    let state: NodeState;
    try {
      const frame = decode(payload);
      if (frame.kind !== "state") return;
      state = frame.state;
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      // The message alone: a cause could quote what the node sent.
      this.#log.warn(id, { node: id, why: error.message }, "a node sent a malformed state");
      this.rates.count(id, "malformed");
      return;
    }
    for (const run of this.#reported) run(id, state);
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
      const licence = await this.#licences.of(id);
      // Its last words may come to be understood after its end.
      if (this.#waiting.get(id) !== waiting) return;
      if (licence === undefined) this.#bar(id);
      else this.#update(id, licence, waiting.state);
    } finally {
      if (this.#waiting.get(id) === waiting) this.#waiting.delete(id);
    }
  }

  #update(id: string, licence: NodeLicence, state: NodeState): void {
    const known = this.#nodes.get(id);
    const remembered = this.#memory.take(id);
    const node: RosterNode = known ??
      remembered?.node ?? {
        id,
        licence,
        reported: [],
        models: new Set(),
        formats: new Set(),
        reportedSlots: 0,
        slots: 0,
        outstanding: 0,
        draining: false,
        seenAt: 0,
        shunnedUntil: 0,
      };
    node.licence = licence;
    node.reported = state.models;
    node.models = unlessSame(node.models, elected(state.models, licence));
    node.formats = unlessSame(node.formats, new Set(state.json_schema));
    node.reportedSlots = state.slots;
    node.slots = trustedSlots(state.slots, licence);
    // A node on probation is not believed when it says that it is free.
    const underWay = onProbation(licence) ? (this.#underWay.get(id) ?? 0) : 0;
    node.outstanding = Math.max(state.busy, underWay);
    node.draining = state.draining;
    node.seenAt = this.#options.clock.monotonic();
    if (known === undefined) this.#nodes.set(id, node);
    this.#refile(node);
    if (known === undefined) {
      // When the plane was away and is back, that is said once.
      if (remembered?.away !== true)
        this.#log.info(id, { node: id, models: [...node.models], slots: node.slots }, "a node came online");
      for (const run of this.#joined) run(node);
    }
    this.#notify();
  }

  #dropStale(): void {
    // What nodes said meanwhile lies in the socket, or is said when they are asked.
    if (this.ownStops.wasStopped) {
      this.#ask();
      return;
    }
    const now = this.#options.clock.monotonic();
    for (const node of this.#nodes.values()) if (node.seenAt < now - STALE_AFTER_MS) this.#lost(node.id, "node");
    for (const id of this.#memory.expire()) this.#tellGone(id, "plane");
    this.#licences.sweep((id) => this.#nodes.has(id));
  }

  #lost(id: string, by: "node" | "plane"): void {
    this.#waiting.delete(id);
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
    this.#waiting.clear();
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
    this.#log.info(id, { node: id }, "a node went offline");
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

/** As the shelves have it of those that are connected. */
const isAble = (node: RosterNode, { model, formatted = false }: Need): boolean =>
  node.models.has(model) && (!formatted || node.formats.has(model)) && !node.draining;

const onProbation = ({ answersOwed = 0 }: NodeLicence): boolean => answersOwed > 0;

const trustedSlots = (reported: number, licence: NodeLicence): number =>
  onProbation(licence) ? Math.min(reported, 1) : reported;

const elected = (reported: string[], { models }: NodeLicence): Set<string> =>
  new Set(reported.filter((model) => models.includes(model)));

/** Most reports say the same of what a node serves: nothing has to be filed elsewhere for them. */
const unlessSame = (before: Set<string>, now: Set<string>): Set<string> =>
  before.size === now.size && now.isSubsetOf(before) ? before : now;

interface RosterOptions {
  plane: Plane;
  clock: Clock;
  random: Random;
  log: Log;
  /** What the records allow a node; undefined when it may not work at all. */
  licence: (nodeId: string) => Promise<NodeLicence | undefined>;
}
