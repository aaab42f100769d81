/** Chooses the nodes that verify answers, among nodes in good standing of hosts that made few errors in verifying. */
import type { Random } from "../../base/random.ts";
import type { Roster } from "../../dispatch/roster.ts";
import type { RosterNode } from "../../dispatch/roster-node.ts";
import type { CheckStore } from "./store.ts";
import { VERIFIER_ERRORS_MAX } from "./verdict.ts";

/**
 * If at least this many hosts offer a better scoring method, all checks use it. With fewer hosts, only a part of the
 * checks does, so that no host verifies all of them.
 */
const VERIFYING_HOSTS_MIN = 3;

interface VerifiersOptions {
  roster: Pick<Roster, "nodes">;
  /** Host accounts whose nodes are the operator's own. */
  references: ReadonlySet<string>;
  /** Whether the node is not on probation, and nothing that gateways observed speaks against it. */
  isInGoodStanding: (node: RosterNode) => boolean;
  /** By host account: whether each of its latest opinions was wrong, where that could be verified. */
  errors: Map<string, boolean[]>;
  store: Pick<CheckStore, "addVerifierError">;
  random: Random;
  /** Uniform in [0, 1). */
  roll: () => number;
}

export class Verifiers {
  readonly #options: VerifiersOptions;

  constructor(options: VerifiersOptions) {
    this.#options = options;
  }

  /**
   * Picks a free node in good standing, or one of the operator's own, that has no owner in common with these nodes.
   * Draws a host, and then one of its nodes, among the hosts with the best scoring method. If these hosts are few, some
   * draws include other hosts. Otherwise one host could verify nearly everything, and approve all answers of a friend's
   * node. If the answer is compared (`compares`), every engine is as good: the sample must have the answers of all
   * engines, because each words some answers in its own way.
   */
  pick(
    model: string,
    others: readonly RosterNode[],
    { referencesFirst = false, compares = false } = {},
  ): RosterNode | undefined {
    const { roster, references } = this.#options;
    const able = roster
      .nodes()
      .filter(
        (node) =>
          node.models.has(model) &&
          !node.draining &&
          node.outstanding < node.slots &&
          !others.some((other) => haveOneOwner(node, other)) &&
          (references.has(node.nodeRecord.hostAccountId) || this.#isHeeded(node)),
      );
    const own = able.filter(({ nodeRecord }) => references.has(nodeRecord.hostAccountId));
    const asked = referencesFirst && own.length > 0 ? own : able;
    if (compares) return this.#any(this.#any(hostsOf(asked)) ?? []);
    const methods = ["text", "next", undefined]
      .map((kind) => hostsOf(asked.filter(({ scores }) => scores[model] === kind)))
      .filter((hosts) => hosts.length > 0);
    const mayDecide = (hosts: RosterNode[][]): boolean =>
      hosts.flat().some(({ nodeRecord }) => references.has(nodeRecord.hostAccountId)) ||
      this.#options.roll() < hosts.length / VERIFYING_HOSTS_MIN;
    return this.#any(this.#any(methods.find(mayDecide) ?? methods.flat()) ?? []);
  }

  #any<T>(list: readonly T[]): T | undefined {
    return list.length === 0 ? undefined : list[this.#options.random.below(list.length)];
  }

  async mark({ nodeRecord: { hostAccountId } }: RosterNode, erred: boolean): Promise<void> {
    const { store, errors } = this.#options;
    errors.set(hostAccountId, await store.addVerifierError(hostAccountId, erred));
  }

  #isHeeded(node: RosterNode): boolean {
    const { errors, isInGoodStanding } = this.#options;
    const erred = errors.get(node.nodeRecord.hostAccountId)?.filter(Boolean).length ?? 0;
    return erred < VERIFIER_ERRORS_MAX && isInGoodStanding(node);
  }
}

/** The nodes grouped by owner: hosts with a common owner form one group. */
function hostsOf(nodes: readonly RosterNode[]): RosterNode[][] {
  const hosts = new Map<string, RosterNode[]>();
  for (const node of nodes) {
    const { hostAccountId, owners = [] } = node.nodeRecord;
    const names = [hostAccountId, ...owners];
    const host = names.map((name) => hosts.get(name)).find((known) => known !== undefined) ?? [];
    host.push(node);
    for (const name of names) if (!hosts.has(name)) hosts.set(name, host);
  }
  return [...new Set(hosts.values())];
}

/** Whether two nodes have a common owner. A host account may have several owners, and an owner several accounts. */
const haveOneOwner = ({ nodeRecord: one }: RosterNode, { nodeRecord: other }: RosterNode): boolean =>
  one.hostAccountId === other.hostAccountId || (one.owners?.some((owner) => other.owners?.includes(owner)) ?? false);
