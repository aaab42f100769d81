/**
 * Whether a node or the plane is to blame for an attempt that broke off. An attempt ends as `cut` when the plane lost a node that
 * was well. That takes the servers' own evidence: this gateway's connection is unreachable or frozen, a server ends the connection itself or
 * does not answer, or other hosts' nodes lost the same server (excuses.ts).
 */
import type { Clock } from "../base/clock.ts";
import type { Plane } from "../plane/plane.ts";
import { Excuses } from "./excuses.ts";
import type { Roster } from "./roster.ts";
import { isOnProbation, type RosterNode } from "./roster-node.ts";
import { type RunningAttempt, step } from "./running-attempt.ts";

interface BlameOptions {
  plane: Plane;
  roster: Roster;
  clock: Clock;
  /** What a node failed since by falling silent turned out to be the plane's doing. */
  excused: (nodeId: string, sinceMs: number) => void;
}

/** A node notices within this time that the server it is on hangs. */
const NOTICED_MS_MAX = 15_000;

export class Blame {
  readonly #options: BlameOptions;
  readonly #excuses = new Excuses();
  /** The nodes that fell silent, and when they did last. */
  readonly #silent = new Map<string, { node: RosterNode; at: number }>();

  constructor(options: BlameOptions) {
    this.#options = options;
  }

  /** Ends the attempt with an event that looks like the node's fault, or as `cut` where the plane may have lost it. */
  orCut(attempt: RunningAttempt, event: "quiet" | "broken" | "lost"): void {
    step(attempt, this.#isExcused(attempt) ? "cut" : event);
  }

  fellSilent(node: RosterNode): void {
    this.#silent.set(node.id, { node, at: this.#options.clock.monotonic() });
  }

  /** The node's connection ended: so do its attempts. */
  gone(nodeId: string, by: "node" | "plane", attempts: RunningAttempt[]): void {
    this.#silent.delete(nodeId);
    for (const attempt of attempts) {
      if (by === "plane") step(attempt, "cut");
      else this.orCut(attempt, "lost");
    }
  }

  /** The node connected anew and runs nothing. Without evidence its jobs are left to fall silent: a server's end shows by then. */
  moved(nodeId: string, movedAt: number, attempts: RunningAttempt[]): void {
    const { roster, clock, excused } = this.#options;
    const node = roster.find(nodeId);
    if (node !== undefined) this.#note(node, movedAt, clock.monotonic());
    for (const attempt of attempts) if (this.#hasMoved(attempt) && this.#isExcused(attempt)) step(attempt, "cut");
    const silent = this.#silent.get(nodeId);
    if (silent === undefined) return;
    if (movedAt - silent.at > NOTICED_MS_MAX) this.#silent.delete(nodeId);
    else if (this.#hasEvidence(silent.node, movedAt)) {
      this.#silent.delete(nodeId);
      excused(nodeId, movedAt - NOTICED_MS_MAX);
    }
  }

  #note(node: RosterNode, at: number, now: number): void {
    const server = this.#options.plane.movedFrom(node.id);
    if (server === undefined) return;
    const { id: nodeId, nodeRecord } = node;
    this.#excuses.note({ nodeId, owners: ownersOf(node), established: !isOnProbation(nodeRecord), server, at }, now);
  }

  #isExcused(attempt: RunningAttempt): boolean {
    const { plane, roster } = this.#options;
    const { node } = attempt;
    if (!plane.hears || !plane.reaches(node.id)) return true;
    if (roster.processPauses.wasStopped) return true;
    return this.#hasMoved(attempt) && this.#hasEvidence(node, plane.movedAt(node.id) as number);
  }

  /** The node connected anew while it ran this, and the plane heard of no end of its former connection. */
  #hasMoved({ node, offeredAt }: RunningAttempt): boolean {
    const movedAt = this.#options.plane.movedAt(node.id);
    return movedAt !== undefined && offeredAt <= movedAt;
  }

  /** The server that the node was on is dead or hangs, as this gateway sees itself, or as others that were on it show. */
  #hasEvidence(node: RosterNode, movedAt: number): boolean {
    const { plane } = this.#options;
    const server = plane.movedFrom(node.id);
    if (server === undefined) return false;
    return !plane.answers(server) || this.#excuses.believes({ owners: ownersOf(node), server, at: movedAt });
  }
}

const ownersOf = ({ nodeRecord: { owners, hostAccountId } }: RosterNode): string[] =>
  owners === undefined || owners.length === 0 ? [hostAccountId] : owners;
