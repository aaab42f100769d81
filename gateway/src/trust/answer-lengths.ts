/**
 * Tests whether a node's answers are as long as those of other hosts' nodes to the same builder. Canned answers are
 * shorter, longer or more alike. A suspicion makes spot checks more frequent and never leads to a quarantine.
 *
 * Builders and prompts differ, but the choice of the node for a prompt is random. So an answer is compared only with
 * answers to the same account and model, with prompt and output cap of similar size. An honest node's answer is ranked
 * among three answers of other hosts; each of the four ranks is equally likely. Each answer is used in one comparison,
 * so comparisons are independent. Canned answers have one rank more often.
 *
 * The test is a test martingale: it bets at fair odds on the rank that the node had most often. For an honest node the
 * stake grows n-fold in at most 1 of n stretches. The node is suspected when the stake has grown by the factor 1 /
 * `FALSE_ALARM`. After `STRETCH` comparisons a new stretch begins. The growth that one account adds is limited, so at
 * least four accounts are needed and no builder can cause a suspicion alone. Gateways report ranks to each other, so that
 * each bets on the comparisons of all. Pure except for its memory and randomness.
 */
import { z } from "zod";
import type { Random } from "../base/random.ts";
import type { PeerGateways } from "../dispatch/exchange/peer-gateways.ts";

interface Answer {
  nodeId: string;
  /** The account of the node's host. */
  host: string;
  model: string;
  /** The account of the builder who sent the request. */
  accountId: string;
  promptTokens: number;
  outputTokens: number;
  outputTokensMax: number;
  formatted: boolean;
}

/**
 * The evidence against a suspected node: how often its answers had each rank, from the shortest of four to the longest.
 */
export interface LengthEvidence {
  model: string;
  compared: number;
  accounts: number;
  ranks: number[];
}

/** The probability that an honest node is suspected for a model within one stretch. */
const FALSE_ALARM = 1e-4;
/** The number of comparisons in a stretch, after which the bets start again from the beginning. */
const STRETCH = 200;
const GROWTH_MAX = Math.log(1 / FALSE_ALARM);
const ACCOUNT_GROWTH_MAX = GROWTH_MAX / 4;
const ACCOUNTS_MAX = 32;
const REFERENCES = 3;
/** The most reference answers of one host. Fewer than are needed, so references come from at least two hosts. */
const PER_HOST_MAX = 2;
/** The most answers per kind of prompt that wait for a comparison, and the most kinds per builder. */
const WAITING_MAX = 8;
const KINDS_MAX = 8192;
const NODES_MAX = 4096;
/** The result of one comparison, which gateways report to each other. */
const Comparison = z.object({ model: z.string(), account: z.string(), rank: z.int().min(0).max(REFERENCES) });
type Comparison = z.infer<typeof Comparison>;
const UNSENT_MAX = 32;

interface Waiting {
  nodeId: string;
  host: string;
  length: number;
}

/** The growth of the stake that is bet against a node, as a logarithm, summed by builder account. */
class Bets {
  readonly #byAccount = new Map<string, number>();
  /** The sum of the negative growth of accounts that were dropped from the map. Positive growth is discarded. */
  #lost = 0;

  note(account: string, growth: number): void {
    const before = this.#byAccount.get(account) ?? 0;
    this.#byAccount.delete(account);
    this.#byAccount.set(account, before + growth);
    if (this.#byAccount.size <= ACCOUNTS_MAX) return;
    const [oldest, gained] = this.#byAccount.entries().next().value as [string, number];
    this.#byAccount.delete(oldest);
    this.#lost += Math.min(0, gained);
  }

  get grown(): boolean {
    let sum = this.#lost;
    for (const growth of this.#byAccount.values()) sum += Math.min(growth, ACCOUNT_GROWTH_MAX);
    return sum >= GROWTH_MAX;
  }

  get accounts(): number {
    return this.#byAccount.size;
  }
}

class Stretch {
  readonly ranks = [0, 0, 0, 0];
  readonly bets = new Bets();

  get compared(): number {
    return this.ranks.reduce((sum, count) => sum + count, 0);
  }
}

interface Record {
  stretch: Stretch;
  suspicion: LengthEvidence | undefined;
}

export class AnswerLengthStatistics {
  readonly #random: Random;
  /** Answers that wait for a comparison, by account, model, prompt size and output cap. */
  readonly #waiting = new Map<string, Waiting[]>();
  /** Records by node ID, then by model. */
  readonly #nodes = new Map<string, Map<string, Record>>();

  readonly #tell: ((nodeId: string, comparison: Comparison) => void) | undefined;

  /** `peers`: the other gateways. Undefined: this is the only one. */
  constructor(random: Random, peers?: Pick<PeerGateways, "exchange">) {
    this.#random = random;
    const hear = (nodeId: string, items: Comparison[]): void => {
      for (const item of items) this.#add(nodeId, item);
    };
    // A gateway that starts later begins a stretch of its own, so nothing is held for it.
    this.#tell = peers?.exchange({
      name: "lengths",
      itemsMax: UNSENT_MAX,
      parse: (told) => Comparison.safeParse(told).data,
      hear,
      held: () => [],
    });
  }

  /** Adds an answer. Returns the evidence if the node becomes suspicious with it. */
  note(answer: Answer): LengthEvidence | undefined {
    const { nodeId, host, accountId, outputTokens: length } = answer;
    const key = keyOf(answer);
    const waiting = this.#waiting.get(key) ?? [];
    // Deleted and set again, so that the map's order is from least to most recently used.
    this.#waiting.delete(key);
    this.#waiting.set(key, waiting);
    if (this.#waiting.size > KINDS_MAX) this.#waiting.delete(this.#waiting.keys().next().value as string);
    const others = this.#referencesIn(waiting, host);
    if (others.length < REFERENCES) {
      waiting.push({ nodeId, host, length });
      if (waiting.length > WAITING_MAX) waiting.shift();
      return undefined;
    }
    this.#waiting.set(
      key,
      waiting.filter((each) => !others.includes(each)),
    );
    const comparison = { model: answer.model, account: accountId, rank: this.#rankOf(length, others) };
    this.#tell?.(nodeId, comparison);
    return this.#add(nodeId, comparison);
  }

  /**
   * Records a bet's result. The stake was spread over the four ranks, most of it on those that the node had most often,
   * and the part on the actual rank is paid fourfold.
   */
  #add(nodeId: string, { model, account, rank }: Comparison): LengthEvidence | undefined {
    const record = this.#recordOf(nodeId, model);
    const { ranks, bets, compared } = record.stretch;
    const before = ranks[rank] as number;
    bets.note(account, Math.log((4 * (before + 1)) / (compared + 4)));
    ranks[rank] = before + 1;
    return judge(record, model);
  }

  isSuspicious(nodeId: string): boolean {
    return this.evidenceOf(nodeId).length > 0;
  }

  evidenceOf(nodeId: string): LengthEvidence[] {
    const records = this.#nodes.get(nodeId)?.values() ?? [];
    return [...records].flatMap(({ suspicion }) => (suspicion === undefined ? [] : [suspicion]));
  }

  /**
   * Needs answers of two other hosts, because between two hosts it is unclear which one is unusual. Leaves out
   * suspected nodes.
   */
  #referencesIn(waiting: Waiting[], host: string): Waiting[] {
    const byHost = new Map<string, number>();
    const found = waiting.filter((each) => {
      const count = byHost.get(each.host) ?? 0;
      if (each.host === host || count >= PER_HOST_MAX || this.isSuspicious(each.nodeId)) return false;
      byHost.set(each.host, count + 1);
      return true;
    });
    return found.slice(0, REFERENCES);
  }

  #recordOf(nodeId: string, model: string): Record {
    const models = this.#nodes.get(nodeId) ?? new Map<string, Record>();
    if (models.size === 0) this.#nodes.set(nodeId, models);
    if (this.#nodes.size > NODES_MAX) this.#nodes.delete(this.#nodes.keys().next().value as string);
    const record = models.get(model) ?? { stretch: new Stretch(), suspicion: undefined };
    models.set(model, record);
    return record;
  }

  /** The rank of the answer's length among those of the others. Equal lengths are ranked at random. */
  #rankOf(length: number, others: Waiting[]): number {
    const less = others.filter((other) => other.length < length).length;
    const equal = others.filter((other) => other.length === length).length;
    return less + this.#random.below(equal + 1);
  }
}

function judge(record: Record, model: string): LengthEvidence | undefined {
  const { ranks, bets, compared } = record.stretch;
  if (!bets.grown) {
    if (compared < STRETCH) return undefined;
    // The node completed `STRETCH` comparisons without suspicion: drops an earlier suspicion and starts to count again.
    [record.stretch, record.suspicion] = [new Stretch(), undefined];
    return undefined;
  }
  record.stretch = new Stretch();
  record.suspicion = { model, compared, accounts: bets.accounts, ranks };
  return record.suspicion;
}

/** The size class of a prompt: lengths that differ by a factor of four are in different classes. */
const sizeOf = (tokens: number): number => Math.floor(Math.log2(Math.max(tokens, 1)) / 2);

const keyOf = ({ accountId, model, promptTokens, outputTokensMax, formatted }: Answer): string =>
  `${accountId} ${model} ${sizeOf(promptTokens)} ${sizeOf(outputTokensMax)} ${formatted}`;
