/**
 * Whether a node or the plane is to blame for an attempt that broke off. An attempt ends as `cut` when the plane lost a node that
 * was well. How often a node is believed that, is the rule in excuses.ts.
 */
import type { Clock } from "../base/clock.ts";
import type { Plane } from "../plane/plane.ts";
import { Excuses } from "./excuses.ts";
import type { Roster } from "./roster.ts";
import type { RosterNode } from "./roster-node.ts";
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

  planeAway(): void {
    this.#excuses.away(this.#options.clock.monotonic());
  }

  fellSilent(node: RosterNode): void {
    this.#silent.set(node.id, { node, at: this.#options.clock.monotonic() });
  }

  /** The node's connection ended: so do its attempts. */
  gone(nodeId: string, by: "node" | "plane", attempts: RunningAttempt[]): void {
    const now = this.#options.clock.monotonic();
    this.#silent.delete(nodeId);
    for (const attempt of attempts) {
      if (by === "plane" && this.#believes(attempt, now)) step(attempt, "cut");
      else this.orCut(attempt, "lost");
    }
  }

  /** The node connected anew and runs nothing. */
  moved(nodeId: string, movedAt: number, attempts: RunningAttempt[]): void {
    for (const attempt of attempts) if (this.#hasMoved(attempt)) this.orCut(attempt, "lost");
    const silent = this.#silent.get(nodeId);
    this.#silent.delete(nodeId);
    if (silent === undefined || movedAt - silent.at > NOTICED_MS_MAX) return;
    if (this.#believes(silent, movedAt)) this.#options.excused(nodeId, movedAt - NOTICED_MS_MAX);
  }

  #isExcused(attempt: RunningAttempt): boolean {
    const { plane, roster } = this.#options;
    if (!plane.hears || !plane.reaches(attempt.node.id)) return true;
    if (roster.ownStops.wasStopped) return true;
    return this.#hasMoved(attempt) && this.#believes(attempt, plane.movedAt(attempt.node.id) as number);
  }

  /** The node connected anew while it ran this, and the plane heard of no end of its former connection. */
  #hasMoved({ node, offeredAt }: RunningAttempt): boolean {
    const movedAt = this.#options.plane.movedAt(node.id);
    return movedAt !== undefined && offeredAt <= movedAt;
  }

  #believes({ node }: { node: RosterNode }, incidentAt: number): boolean {
    const who = { nodeId: node.id, hostId: node.licence.hostAccountId };
    return this.#excuses.believes(who, incidentAt, this.#options.clock.monotonic());
  }
}
