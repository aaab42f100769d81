/**
 * The interface of enemies. A strategy runs in its own process (`enemy.ts`), so that its costs are not counted as the
 * platform's. It knows what any stranger with accounts knows: addresses, its own keys and tokens, the protocol.
 */

import {
  type Builder,
  CREDIT,
  type Host,
  type KeyTraits,
  makeKey,
  NO_LIMITS,
  openBuilder,
  openHost,
} from "@tollgate/stage/accounts.ts";
import type { Query } from "@tollgate/stage/database.ts";
import { type Behaviour, HandMadeNode, type Job, type Manners } from "@tollgate/stage/nodes/hand-made.ts";
import { pause } from "@tollgate/stage/nodes/pace.ts";

export interface Strategy {
  name: string;
  /** The number in the list of known attacks; absent for a new one. */
  known?: number;
  /** The strategy in one sentence. */
  does: string;
  plane?: "nats";
  /** Resolves when everything is in place; what it began continues until the enemy ends. */
  attack(enemy: Enemy): Promise<void>;
  /** Called when honest users have ended. */
  finish?(enemy: Enemy): Promise<void>;
}

/** What the enemy gained, as far as it knows. */
export interface Loot {
  hosts: string[];
  builders: string[];
  /** Requests that it answered as an honest node would, by the suffix of their IDs: these earnings are legitimate. */
  worked: string[];
  /** Gains besides its earnings. */
  took: { what: string; amount: number } | null;
  /** The first errors that it met, which are expected. */
  errors: string[];
}

/** The model that honest builders use. */
export const MODEL = "tiny-3b";
const ERRORS_KEPT = 3;

export class Enemy {
  readonly baseUrl: string;
  readonly query: Query;
  /** Aborted when the enemy has to end. */
  readonly over: AbortSignal;
  readonly ended: Promise<unknown>;
  readonly loot: Loot = { hosts: [], builders: [], worked: [], took: null, errors: [] };
  readonly #nodes = new Set<HandMadeNode>();
  readonly #going = new Set<Promise<void>>();
  #names = 0;

  constructor({ baseUrl, query, over }: Pick<Enemy, "baseUrl" | "query" | "over">) {
    this.baseUrl = baseUrl;
    this.query = query;
    this.over = over;
    this.ended = new Promise((resolve) => over.addEventListener("abort", resolve));
  }

  get isOver(): boolean {
    return this.over.aborted;
  }

  async balance(account: string): Promise<bigint> {
    const [row] = await this.query<{ balance: string }>("select balance from ledger_account where id = $1", [account]);
    return BigInt(row?.balance ?? 0);
  }

  /** Opens a host account with a new identity. */
  async host(): Promise<Host> {
    const host = await openHost(this.query);
    this.loot.hosts.push(host.account);
    return host;
  }

  async builder(traits: KeyTraits = NO_LIMITS): Promise<Builder> {
    const account = await openBuilder(this.query, CREDIT);
    this.loot.builders.push(account);
    return { account, key: (await makeKey(this.query, account, traits)).token };
  }

  /**
   * Joins a node of a new host, or of the given one. It claims 4,096 free slots unless other claims are given.
   * `honestAnswers`: answers that it gave before, to be past probation.
   */
  async node(
    behaviour: Behaviour,
    more: Partial<Manners> & { host?: Host; honestAnswers?: number } = {},
  ): Promise<HandMadeNode> {
    const { host = await this.host(), honestAnswers = 0, ...manners } = more;
    if (honestAnswers > 0) await newNodesHave(this, honestAnswers);
    const claims = { protocol: "1.3", slots: 4096, busy: 0, accepts_early: true, ...manners.claims };
    const models = manners.models ?? [MODEL];
    // Does not wait until the node is online, because it may be refused.
    const name = `node ${++this.#names}`;
    const all = { ...manners, name, models, behaviour, claims, waits: false };
    const node = await this.#again(() => HandMadeNode.join(this, host, all));
    if (honestAnswers > 0) await newNodesHave(this, 0);
    this.#nodes.add(node);
    return node;
  }

  /** Retries until the platform accepts the stranger. */
  async #again<T>(what: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await what();
      } catch (error) {
        if (this.isOver) throw error;
        this.failed(error as Error);
        await pause(200);
      }
    }
  }

  /** Repeats an action in several concurrent loops until the enemy ends. */
  keep(what: () => Promise<unknown>, { lanes = 1, everyMs = 0 } = {}): void {
    const lane = async (): Promise<void> => {
      while (!this.isOver) {
        try {
          await what();
        } catch (error) {
          // Enemies expect refused and broken connections.
          this.failed(error as Error);
          await pause(100);
        }
        await pause(everyMs);
      }
    };
    for (let i = 0; i < lanes; i++) this.#going.add(lane());
  }

  /** Sends a chat; resolves when the headers arrive. */
  chat(key: string, body: object, signal: AbortSignal = this.over): Promise<Response> {
    return this.post(key, "chat/completions", { model: MODEL, max_tokens: 200, ...body }, signal);
  }

  post(key: string, path: string, body: object, signal: AbortSignal = this.over): Promise<Response> {
    return fetch(`${this.baseUrl}/v1/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
  }

  takes(what: string, amount = 1): void {
    this.loot.took ??= { what, amount: 0 };
    this.loot.took.amount += amount;
  }

  /** Marks a job as answered honestly. */
  worked(job: Job): void {
    this.loot.worked.push(job.header.job.slice(0, 26));
  }

  failed({ message }: Error): void {
    if (!this.isOver && this.loot.errors.length < ERRORS_KEPT) this.loot.errors.push(message.slice(0, 200));
  }

  async leave(): Promise<void> {
    await Promise.all(this.#going);
    for (const node of this.#nodes) await node.leave();
  }
}

/** Sets the record of future nodes: a gateway reads a node's record when the node joins. */
export async function newNodesHave({ query }: Pick<Enemy, "query">, honestAnswers: number): Promise<void> {
  await query(`alter table node alter column honest_answers set default ${honestAnswers}`);
}

export const user = (content: string): { messages: object[] } => ({ messages: [{ role: "user", content }] });

/** Instructions to the scripted engine of honest nodes, for requests that need a particular answer. */
export const ordered = (orders: object): { messages: object[] } => user(`#script ${JSON.stringify(orders)}`);
