/**
 * The interface of attacks. An attack runs in its own process (`attacker-process.ts`), so that its costs are not counted as the
 * platform's. It uses only what any stranger with accounts has: addresses, its own keys and tokens, and the protocol.
 */

import {
  type BuilderAccount,
  DEFAULT_CREDIT_PICO,
  HIGH_KEY_LIMITS,
  type HostAccount,
  makeKey,
  openBuilderAccount,
  openHostAccount,
} from "@tollgate/stage/builder-and-host-accounts.ts";
import {
  type Behaviour,
  type HandMadeJob,
  HandMadeNode,
  type HandMadeNodeOptions,
} from "@tollgate/stage/nodes/hand-made-node.ts";
import { pauseFor } from "@tollgate/stage/nodes/real-time-pauses.ts";
import type { Query } from "@tollgate/stage/stage-database.ts";

export interface AttackStrategy {
  name: string;
  /** The attack's number in the list of known attacks; absent for a new attack. */
  known?: number;
  /** The attack in one sentence. */
  does: string;
  plane?: "nats";
  /** Starts the attack. Resolves when everything is running; it continues until the attacker ends. */
  attack(enemy: Attacker): Promise<void>;
  /** Called after the honest load has ended. */
  finish?(enemy: Attacker): Promise<void>;
}

/** The attacker's gains, as it counts them itself. */
export interface AttackGains {
  hosts: string[];
  builders: string[];
  /**
   * The suffixes of the IDs of requests that the attacker's nodes answered honestly. Earnings from these are
   * legitimate.
   */
  worked: string[];
  /** Gains other than earnings, such as requests that the attacker made fail. */
  took: { what: string; amount: number } | null;
  /** The first errors that the attacker got. Errors are expected. */
  errors: string[];
}

/** The model that honest builders request. */
export const MODEL = "tiny-3b";
const ERRORS_KEPT = 3;

export class Attacker {
  readonly baseUrl: string;
  readonly query: Query;
  /** Aborted when the attacker must end. */
  readonly over: AbortSignal;
  readonly ended: Promise<unknown>;
  readonly loot: AttackGains = { hosts: [], builders: [], worked: [], took: null, errors: [] };
  readonly #nodes = new Set<HandMadeNode>();
  readonly #going = new Set<Promise<void>>();
  #names = 0;

  constructor({ baseUrl, query, over }: Pick<Attacker, "baseUrl" | "query" | "over">) {
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
  async host(): Promise<HostAccount> {
    const host = await openHostAccount(this.query);
    this.loot.hosts.push(host.account);
    return host;
  }

  async builder(): Promise<BuilderAccount> {
    const account = await openBuilderAccount(this.query, DEFAULT_CREDIT_PICO);
    this.loot.builders.push(account);
    return { account, key: (await makeKey(this.query, account, HIGH_KEY_LIMITS)).token };
  }

  /**
   * Joins with a node of the given host or of a new one. Unless `claims` says otherwise, the node claims 4,096 free
   * slots. `honestAnswers` is the number of earlier honest answers, which ends probation.
   */
  async node(
    behaviour: Behaviour,
    more: Partial<HandMadeNodeOptions> & { host?: HostAccount; honestAnswers?: number } = {},
  ): Promise<HandMadeNode> {
    const { host = await this.host(), honestAnswers = 0, ...manners } = more;
    if (honestAnswers > 0) await setHonestAnswersOfNewNodes(this, honestAnswers);
    const claims = { protocol: "1.3", slots: 4096, busy: 0, accepts_early: true, ...manners.claims };
    const models = manners.models ?? [MODEL];
    // Does not wait until the node is online, because the platform may refuse it.
    const name = `node ${++this.#names}`;
    const all = { ...manners, name, models, behaviour, claims, waits: false };
    const node = await this.#again(() => HandMadeNode.join(this, host, all));
    if (honestAnswers > 0) await setHonestAnswersOfNewNodes(this, 0);
    this.#nodes.add(node);
    return node;
  }

  /** Retries until the platform accepts the node. */
  async #again<T>(what: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await what();
      } catch (error) {
        if (this.isOver) throw error;
        this.failed(error as Error);
        await pauseFor(200);
      }
    }
  }

  /** Repeats an action in several concurrent loops until the attacker ends. */
  keep(what: () => Promise<unknown>, { lanes = 1, everyMs = 0 } = {}): void {
    const lane = async (): Promise<void> => {
      while (!this.isOver) {
        try {
          await what();
        } catch (error) {
          // Refused and broken connections are expected here.
          this.failed(error as Error);
          await pauseFor(100);
        }
        await pauseFor(everyMs);
      }
    };
    for (let i = 0; i < lanes; i++) this.#going.add(lane());
  }

  /** Sends a chat. Resolves when the response headers arrive. */
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

  /** Records a job as answered honestly. */
  worked(job: HandMadeJob): void {
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

/** Sets the number of honest answers in the records of future nodes. A gateway reads a record when its node joins. */
export async function setHonestAnswersOfNewNodes(
  { query }: Pick<Attacker, "query">,
  honestAnswers: number,
): Promise<void> {
  await query(`alter table node alter column honest_answers set default ${honestAnswers}`);
}

export const userMessage = (content: string): { messages: object[] } => ({ messages: [{ role: "user", content }] });

/** A message with instructions for the scripted engine of honest nodes, for requests that need a certain answer. */
export const makeScriptedMessage = (orders: object): { messages: object[] } =>
  userMessage(`#script ${JSON.stringify(orders)}`);
