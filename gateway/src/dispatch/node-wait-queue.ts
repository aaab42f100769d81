/**
 * Requests that wait for a free node. Waiting accounts have equal shares of a model's slots (`fair-shares.ts`), over
 * all gateways. Each account's requests are served in order, except on nodes that earlier requests cannot use. A
 * request leaves the queue with a node, at its deadline, when its client disconnects, or when no connected node can
 * serve it any more.
 */

import type { CancelSignal } from "../base/cancel-signal.ts";
import type { Clock } from "../base/clock.ts";
import { AccountLoads, type SharedAccountLoads } from "./exchange/account-loads.ts";
import { RecentDemand, RequestsInService, serveFairly } from "./fair-shares.ts";
import type { RequiredNodeProperties } from "./node-index.ts";
import type { Roster } from "./roster.ts";
import type { RosterNode } from "./roster-node.ts";

/** After this pause, nodes that declined a request are asked again, until the request's deadline. */
const DECLINED_PAUSE_MS = 250;

export type NodeWaitResult = { kind: "node"; node: RosterNode } | { kind: "no_capacity" } | { kind: "cancelled" };

/** The requirements of a waiting request. */
interface Wanted {
  /** The account that the request belongs to. */
  account: string;
  need: RequiredNodeProperties;
  excluded: ReadonlySet<string>;
  /**
   * Nodes that declined this request a moment ago. The request waits for them too; they are asked again once the set is
   * cleared.
   */
  declined: Set<string>;
}

interface Waiting extends Wanted {
  leave: (turn: NodeWaitResult) => void;
}

interface QueueOptions {
  /** Exchanges the number of each account's requests with the other gateways. Undefined: this is the only gateway. */
  shareLoads?: ((loads: SharedAccountLoads) => void) | undefined;
  roster: Roster;
  clock: Clock;
  waitingMax: number;
  /** The node's time to first token for a model in milliseconds; null if not measured. */
  ttftMs: (nodeId: string, model: string) => number | null;
}

export class NodeWaitQueue {
  readonly #roster: Roster;
  readonly #clock: Clock;
  readonly #waitingMax: number;
  readonly #ttftMs: QueueOptions["ttftMs"];
  readonly #waiting = new Map<string, Set<Waiting>>();
  /** Requests in service at all gateways, by model. */
  readonly #inService = new Map<string, RequestsInService>();
  readonly #crowds = new Map<string, RecentDemand>();
  readonly #loads = new AccountLoads((model, account, change) => this.#loadChanged(model, account, change));

  constructor(options: QueueOptions) {
    this.#roster = options.roster;
    this.#clock = options.clock;
    this.#waitingMax = options.waitingMax;
    this.#ttftMs = options.ttftMs;
    this.#roster.onChange(() => this.#serve());
    options.shareLoads?.({
      own: () => this.#loads.own(),
      ownOf: (model, account) => this.#loads.ownOf(model, account),
      onChange: (run) => this.#loads.onChange(run),
      told: (from, loads, how) => {
        this.#loads.told(from, loads, how);
        this.#serve();
      },
    });
  }

  /**
   * Resolves with a node, of which one slot is then reserved. To release it, call `ended` of this queue and then
   * `roster.ended`.
   */
  wait(
    need: RequiredNodeProperties,
    order: Omit<Wanted, "need"> & { deadline: number; signal: CancelSignal },
  ): Promise<NodeWaitResult> {
    const { account, excluded, declined, deadline, signal } = order;
    if (signal.aborted) return Promise.resolve({ kind: "cancelled" });
    this.#crowdOf(need.model, account)?.asked(account, this.#clock.monotonic());
    const line = this.#waiting.get(need.model) ?? new Set<Waiting>();
    const wanted = { account, need, excluded, declined };
    const node = this.#takePast(line, wanted);
    if (node !== undefined) return Promise.resolve({ kind: "node", node });
    const waitsInVain = !this.#roster.serves(need, excluded) || deadline <= this.#clock.monotonic();
    if (waitsInVain || line.size >= this.#waitingMax) return Promise.resolve({ kind: "no_capacity" });
    this.#waiting.set(need.model, line);
    return new Promise((resolve) => {
      const leave = (turn: NodeWaitResult): void => {
        line.delete(waiting);
        this.#loads.count(need.model, account, { inService: 0, waiting: -1 });
        stopTimer();
        stopPause?.();
        signal.removeEventListener("abort", onAbort);
        resolve(turn);
      };
      const onAbort = (): void => leave({ kind: "cancelled" });
      const waiting: Waiting = { ...wanted, leave };
      const askAgain = (): void => {
        declined.clear();
        const freed = this.#take(waiting);
        if (freed !== undefined) leave({ kind: "node", node: freed });
      };
      const stopPause = declined.size === 0 ? undefined : this.#clock.after(DECLINED_PAUSE_MS, askAgain);
      const stopTimer = this.#clock.after(deadline - this.#clock.monotonic(), () => leave({ kind: "no_capacity" }));
      signal.addEventListener("abort", onAbort);
      line.add(waiting);
      this.#loads.count(need.model, account, { inService: 0, waiting: 1 });
    });
  }

  /** Releases the account's share of the model's slots. Called when a job on a node that `wait` returned has ended. */
  ended({ model }: RequiredNodeProperties, account: string): void {
    this.#loads.count(model, account, { inService: -1, waiting: 0 });
  }

  /** The number of requests for the model that wait for a node. */
  waiting(model: string): number {
    return this.#waiting.get(model)?.size ?? 0;
  }

  /** Takes a node that this request can use and no earlier request can. */
  #takePast(line: Set<Waiting>, wanted: Wanted): RosterNode | undefined {
    if (line.size > 0) {
      if (this.#pick(wanted) === undefined) return undefined;
      this.#serveLine(wanted.need.model, line);
    }
    return this.#take(wanted);
  }

  #serve(): void {
    for (const [model, line] of this.#waiting) {
      this.#serveLine(model, line);
      if (line.size === 0) this.#waiting.delete(model);
    }
  }

  #serveLine(model: string, line: Set<Waiting>): void {
    serveFairly(line, this.#inServiceOf(model), (waiting) => {
      const node = this.#take(waiting);
      if (node !== undefined) waiting.leave({ kind: "node", node });
      else if (!this.#roster.serves(waiting.need, waiting.excluded)) waiting.leave({ kind: "no_capacity" });
      return node !== undefined;
    });
  }

  #inServiceOf(model: string): RequestsInService {
    const known = this.#inService.get(model);
    if (known !== undefined) return known;
    const inService = new RequestsInService();
    this.#inService.set(model, inService);
    return inService;
  }

  /** Applies a change of an account's requests, at this gateway or another. */
  #loadChanged(model: string, account: string, { inService, waiting }: { inService: number; waiting: number }): void {
    const served = this.#inServiceOf(model);
    served.add(account, inService);
    if (served.isEmpty && this.waiting(model) === 0) this.#inService.delete(model);
    const crowd = this.#crowdOf(model, account);
    crowd?.waits(account, waiting);
    if (inService > 0 || waiting > 0) crowd?.asked(account, this.#clock.monotonic());
  }

  /** The recent demand for the model. The platform's own jobs (empty account) are not counted. */
  #crowdOf(model: string, account: string): RecentDemand | undefined {
    if (account === "") return undefined;
    const crowd = this.#crowds.get(model) ?? new RecentDemand();
    this.#crowds.set(model, crowd);
    return crowd;
  }

  /** Whether the account has its equal share, and must leave the free slots to others. */
  #leaves({ account, need: { model } }: Wanted): boolean {
    const inService = this.#inServiceOf(model);
    const has = inService.of(account);
    if (has === 0) return false;
    const { slots } = this.#roster.capacity(model);
    const counts = { has, othersHave: inService.total - has, accounts: inService.accounts };
    return this.#crowds.get(model)?.leaves(account, counts, slots, this.#clock.monotonic()) ?? false;
  }

  #take(wanted: Wanted): RosterNode | undefined {
    if (this.#leaves(wanted)) return undefined;
    const node = this.#pick(wanted);
    if (node === undefined) return undefined;
    this.#roster.sent(node);
    this.#loads.count(wanted.need.model, wanted.account, { inService: 1, waiting: 0 });
    return node;
  }

  #pick({ need, excluded, declined }: Wanted): RosterNode | undefined {
    const unasked = declined.size === 0 ? excluded : declined.union(excluded);
    return this.#roster.pick(need, unasked, (id) => this.#ttftMs(id, need.model));
  }
}
