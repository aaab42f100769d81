/**
 * A node's standing and how far one in good standing is trusted, by what its record says. Pure.
 *
 * The standing, apart from whether it is connected: registered → ready (it elected models) ⇄ paused; any of these →
 * quarantined → (release) paused; any → retired. "Online" is ready and connected, which only the dispatch plane knows.
 */
import { PROBATION_ANSWERS, slotsTrusted } from "../base/node-thresholds.ts";
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

/** What the platform asks of nodes before it trusts them. */
export interface NodeRules {
  /** A new node gets one request at a time until it has answered so many well; 0: every node is trusted at once. */
  probationAnswers: number;
  /** A host with a node in quarantine gets no work on nodes that it registers afterwards. */
  hostSanction: boolean;
  /** How many nodes a host has none of whose nodes came through its probation. Absent: the platform's own bound. */
  probationNodesMax?: number;
}

export const NODE_RULES: NodeRules = { probationAnswers: PROBATION_ANSWERS, hostSanction: true };

export interface Probation {
  /** Honest answers so far, and how many it takes. */
  answers: number;
  needed: number;
}

/** Another node of its host is in quarantine. */
export type Withheld = "host_quarantine";

interface NodeRecord {
  honestAnswers: number;
  hostQuarantined: boolean;
}

export function trustOf(
  { honestAnswers, hostQuarantined }: NodeRecord,
  { probationAnswers: needed, hostSanction }: NodeRules,
): { probation: Probation | null; withheld: Withheld | null; slotsMax: number } {
  return {
    slotsMax: slotsTrusted(honestAnswers, needed),
    probation: honestAnswers >= needed ? null : { answers: honestAnswers, needed },
    withheld: hostSanction && hostQuarantined ? "host_quarantine" : null,
  };
}
