/** Chooses the nodes that verify answers, and keeps each host's recent errors in verifying. */
import type { Random } from "../../base/random.ts";
import type { Roster } from "../../dispatch/roster.ts";
import type { RosterNode } from "../../dispatch/roster-node.ts";
import { VERIFIER_ERRORS_MAX, VERIFIER_RESULTS_KEPT } from "./verdict.ts";

/**
 * If at least this many hosts offer a better scoring method, all checks use it. With fewer hosts, only a part of the
 * checks does, so that no host verifies all of them.
 */
const VERIFYING_HOSTS_MIN = 3;

interface VerifiersOptions {
  roster: Pick<Roster, "nodes">;
  /** Host accounts whose nodes are the operator's own. */
  references: ReadonlySet<string>;
  random: Random;
  /** Uniform in [0, 1). */
  roll: () => number;
}

export class Verifiers {
  readonly #options: VerifiersOptions;
  /** By host account: whether each of its latest opinions was wrong, where that could be verified. */
  readonly #marks = new Map<string, boolean[]>();

  constructor(options: VerifiersOptions) {
    this.#options = options;
  }

  /**
   * Picks a free node in good standing that has no owner in common with these nodes. Draws a host, and then one of its
   * nodes, among the hosts with the best scoring method. If these hosts are few, some draws include other hosts.
   * Otherwise one host could verify nearly everything, and approve all answers of a friend's node.
   */
  pick(model: string, others: readonly RosterNode[], { referencesFirst = false } = {}): RosterNode | undefined {
    const { roster, references } = this.#options;
    const able = roster
      .nodes()
      .filter(
        (node) =>
          node.models.has(model) &&
          !node.draining &&
          node.outstanding < node.slots &&
          !others.some((other) => haveOneOwner(node, other)) &&
          isInGoodStanding(node) &&
          this.#isHeeded(node.nodeRecord.hostAccountId),
      );
    const own = able.filter(({ nodeRecord }) => references.has(nodeRecord.hostAccountId));
    const asked = referencesFirst && own.length > 0 ? own : able;
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

  mark({ nodeRecord }: RosterNode, erred: boolean): void {
    const marks = this.#marks.get(nodeRecord.hostAccountId) ?? [];
    this.#marks.set(nodeRecord.hostAccountId, [...marks, erred].slice(-VERIFIER_RESULTS_KEPT));
  }

  #isHeeded(hostAccountId: string): boolean {
    const errors = this.#marks.get(hostAccountId)?.filter(Boolean).length ?? 0;
    return errors < VERIFIER_ERRORS_MAX || this.#options.references.has(hostAccountId);
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

export const isInGoodStanding = ({ nodeRecord }: RosterNode): boolean => (nodeRecord.answersOwed ?? 0) === 0;
