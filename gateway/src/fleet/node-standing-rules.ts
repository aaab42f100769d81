/**
 * The rules for a node's standing, and for the trust in a node by its record. Pure.
 *
 * The standing does not depend on the connection: registered → ready (it elected models) ⇄ paused; any of these →
 * quarantined → (release) paused; any → retired. "Online" means ready and connected; only the dispatch plane has the
 * connections.
 */
import { PROBATION_ANSWERS, trustedSlotCount } from "../base/node-trust-thresholds.ts";
import type { NodeStanding } from "../base/stored-enumerations.ts";

export type NodeStandingAction = "elect" | "unelect" | "pause" | "resume" | "quarantine" | "release" | "retire";

const next: Record<NodeStanding, Partial<Record<NodeStandingAction, NodeStanding>>> = {
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

/** The standing after a move. Undefined when the move is not allowed. */
export function findStandingAfterAction(from: NodeStanding, move: NodeStandingAction): NodeStanding | undefined {
  return next[from][move];
}

/** The rules for new nodes. */
export interface NodeRules {
  /** The good answers after which probation ends. Until then the node gets one request at a time. 0: no probation. */
  probationAnswers: number;
  /** Whether new nodes of a host with a node in quarantine get no work. */
  hostSanction: boolean;
  /** The most nodes that a host can have until one of them completes its probation. Absent: the platform's default. */
  probationNodesMax?: number;
}

export const NODE_RULES: NodeRules = { probationAnswers: PROBATION_ANSWERS, hostSanction: true };

export interface Probation {
  /** The number of good answers so far. `needed`: the number that ends probation. */
  answers: number;
  needed: number;
}

/** The reason that a node gets no work: another node of its host is in quarantine. */
export type WithheldWorkReason = "host_quarantine";

interface NodeRecord {
  honestAnswers: number;
  hostQuarantined: boolean;
}

export function judgeNodeTrust(
  { honestAnswers, hostQuarantined }: NodeRecord,
  { probationAnswers: needed, hostSanction }: NodeRules,
): { probation: Probation | null; withheld: WithheldWorkReason | null; slotsMax: number } {
  return {
    slotsMax: trustedSlotCount(honestAnswers, needed),
    probation: honestAnswers >= needed ? null : { answers: honestAnswers, needed },
    withheld: hostSanction && hostQuarantined ? "host_quarantine" : null,
  };
}
