/**
 * A node's standing, apart from whether it is connected: registered → ready (it elected models) ⇄ paused; any of these →
 * quarantined → (release) paused; any → retired. "Online" is ready and connected, which only the dispatch plane knows.
 */
import type { NodeStanding } from "../base/states.ts";

export type NodeMove = "elect" | "unelect" | "pause" | "resume" | "quarantine" | "release" | "retire";

const next: Record<NodeStanding, Partial<Record<NodeMove, NodeStanding>>> = {
  registered: { elect: "ready", unelect: "registered", quarantine: "quarantined", retire: "retired" },
  ready: {
    elect: "ready",
    unelect: "registered",
    pause: "paused",
    resume: "ready",
    quarantine: "quarantined",
    retire: "retired",
  },
  paused: {
    elect: "paused",
    unelect: "registered",
    pause: "paused",
    resume: "ready",
    quarantine: "quarantined",
    retire: "retired",
  },
  quarantined: {
    elect: "quarantined",
    unelect: "quarantined",
    quarantine: "quarantined",
    release: "paused",
    retire: "retired",
  },
  retired: {},
};

/** Where a move leads, or undefined when the standing does not allow it. */
export function moveNode(from: NodeStanding, move: NodeMove): NodeStanding | undefined {
  return next[from][move];
}
