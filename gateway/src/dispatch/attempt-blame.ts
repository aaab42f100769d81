/**
 * Decides whether the node or the dispatch plane caused an attempt to break off. An attempt ends as `cut` if the plane
 * lost a node that was well. The evidence must come from the plane's servers: this gateway's connection is down or
 * frozen, a server closes the connection or does not answer, or nodes of other hosts lost the same server
 * (plane-server-loss-evidence.ts).
 */
import type { Clock } from "../base/clock.ts";
import type { DispatchPlane } from "../plane/plane.ts";
import { PlaneServerLossEvidence } from "./plane-server-loss-evidence.ts";
import type { Roster } from "./roster.ts";
import { isOnProbation, type RosterNode } from "./roster-node.ts";
import { applyEvent, type RunningAttempt } from "./running-attempt.ts";

interface BlameOptions {
  plane: DispatchPlane;
  roster: Roster;
  clock: Clock;
  /** Called when the dispatch plane, and not the node, caused the node's failures since `sinceMs`. */
  excused: (nodeId: string, sinceMs: number) => void;
}

/** Within this time, a node notices that the plane's server to which it is connected does not respond. */
const NOTICED_MS_MAX = 15_000;

export class AttemptBlame {
  readonly #options: BlameOptions;
  readonly #excuses = new PlaneServerLossEvidence();
  /** Nodes that fell silent, each with the time of its last silence. */
  readonly #silent = new Map<string, { node: RosterNode; at: number }>();

  constructor(options: BlameOptions) {
    this.#options = options;
  }

  /**
   * Ends the attempt with this event, which blames the node, or as `cut` if the dispatch plane may have lost the node.
   */
  orCut(attempt: RunningAttempt, event: "quiet" | "broken" | "lost"): void {
    applyEvent(attempt, this.#isExcused(attempt) ? "cut" : event);
  }

  fellSilent(node: RosterNode): void {
    this.#silent.set(node.id, { node, at: this.#options.clock.monotonic() });
  }

  /** Ends a node's attempts after the node's connection ended. */
  gone(nodeId: string, by: "node" | "plane", attempts: RunningAttempt[]): void {
    this.#silent.delete(nodeId);
    for (const attempt of attempts) {
      if (by === "plane") applyEvent(attempt, "cut");
      else this.orCut(attempt, "lost");
    }
  }

  /**
   * Handles a node that reconnected and reports no jobs, because it dropped them. If there is evidence that the
   * dispatch plane failed, the jobs end as `cut`. Otherwise they wait for their timeout and then end as silent, unless
   * a failure of the plane's server has become known by then.
   */
  moved(nodeId: string, movedAt: number, attempts: RunningAttempt[]): void {
    const { roster, clock, excused } = this.#options;
    const node = roster.find(nodeId);
    if (node !== undefined) this.#note(node, movedAt, clock.monotonic());
    for (const attempt of attempts) if (this.#hasMoved(attempt) && this.#isExcused(attempt)) applyEvent(attempt, "cut");
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

  /** Whether the node reconnected during this attempt, and the plane had reported no end of the earlier connection. */
  #hasMoved({ node, offeredAt }: RunningAttempt): boolean {
    const movedAt = this.#options.plane.movedAt(node.id);
    return movedAt !== undefined && offeredAt <= movedAt;
  }

  /**
   * Whether there is evidence that the plane's server to which the node was connected before has failed: the server
   * does not answer this gateway, or nodes of other owners lost it too.
   */
  #hasEvidence(node: RosterNode, movedAt: number): boolean {
    const { plane } = this.#options;
    const server = plane.movedFrom(node.id);
    if (server === undefined) return false;
    return !plane.answers(server) || this.#excuses.believes({ owners: ownersOf(node), server, at: movedAt });
  }
}

const ownersOf = ({ nodeRecord: { owners, hostAccountId } }: RosterNode): string[] =>
  owners === undefined || owners.length === 0 ? [hostAccountId] : owners;
