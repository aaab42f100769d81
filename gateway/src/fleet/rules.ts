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

/** The standing after a move; undefined when it is not allowed. */
export function moveNode(from: NodeStanding, move: NodeMove): NodeStanding | undefined {
  return next[from][move];
}

/** The rules for new nodes. */
export interface NodeRules {
  /** A new node gets one request at a time until it has given this many good answers; 0: no probation. */
  probationAnswers: number;
  /** Nodes registered by a host with a node in quarantine get no work. */
  hostSanction: boolean;
  /** The limit of nodes for a host none of whose nodes completed its probation. Absent: the platform's own. */
  probationNodesMax?: number;
}

export const NODE_RULES: NodeRules = { probationAnswers: PROBATION_ANSWERS, hostSanction: true };

export interface Probation {
  /** Good answers so far, and the number needed. */
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
