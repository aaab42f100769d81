/** A connected node: its own state frames, limited by its record and by what the gateways have seen of it. */
import type { NodeState, ScoringKind } from "@tollgate/protocol/frames.ts";
import { PROVEN_KEYWORDS } from "@tollgate/protocol/json-schema.ts";
import { REFUSALS } from "../base/node-thresholds.ts";
import { mayWork, type NodeRequirements } from "./node-index.ts";
import type { NodeRecord } from "./node-records.ts";

export interface RosterNode {
  /** The id in subjects: `node_…`. */
  id: string;
  nodeRecord: NodeRecord;
  /** The models that it reports, and those among them that its host elected. */
  reported: string[];
  models: Set<string>;
  /** The models for which it reports that its engine enforces an output format. */
  formats: Set<string>;
  /** The JSON Schema keywords that its engine enforces. */
  keywords: ReadonlySet<string>;
  /** The models for which it reports that its engine scores answers, and how. */
  scores: Readonly<Record<string, ScoringKind>>;
  /** The slots and running jobs that it reports (only shown), and the slots that the gateway uses. */
  reportedSlots: number;
  reportedBusy: number;
  /** The slots of its engine, when the agent reports fewer to keep pauses between tokens short. Only shown. */
  engineSlots: number | null;
  slots: number;
  /** The node's jobs by the gateways' records. */
  outstanding: number;
  /** The node accepts a job before it has the body. */
  acceptsEarly: boolean;
  /** The node is not on probation and has not refused often recently, so offers carry the prompt. */
  inGoodStanding: boolean;
  draining: boolean;
  seenAt: number;
  /** Until then others are asked first, because it declined, failed or was slow. */
  shunnedUntil: number;
}

/** The keywords that the agent's own test proves, for agents that report none. */
const PROVEN: ReadonlySet<string> = new Set(PROVEN_KEYWORDS);

export function newRosterNode(id: string, nodeRecord: NodeRecord): RosterNode {
  return {
    id,
    nodeRecord,
    reported: [],
    models: new Set(),
    formats: new Set(),
    keywords: PROVEN,
    scores: {},
    reportedSlots: 0,
    reportedBusy: 0,
    engineSlots: null,
    slots: 0,
    outstanding: 0,
    acceptsEarly: false,
    inGoodStanding: true,
    draining: false,
    seenAt: 0,
    shunnedUntil: 0,
  };
}

/** What the gateways saw of the node's responses to offers. */
interface Seen {
  /** Refusals and late acceptances in a row. */
  refusals: number;
  /** The slots left to it after them. */
  slotsMax: number;
}

/** Applies the node's record and the gateways' own observations. */
export function applyRecord(node: RosterNode, nodeRecord: NodeRecord, { refusals, slotsMax }: Seen): void {
  node.nodeRecord = nodeRecord;
  node.models = unlessSame(node.models, elected(node.reported, nodeRecord));
  node.slots = Math.min(node.reportedSlots, slotsMax, slotsTrusted(nodeRecord));
  node.inGoodStanding = !isOnProbation(nodeRecord) && refusals <= REFUSALS.inGoodStandingMax;
}

/** Applies the node's state frame at `now`. Call `applyRecord` afterwards. */
export function applyState(node: RosterNode, state: NodeState, now: number): void {
  node.reported = state.models;
  node.reportedSlots = state.slots;
  node.reportedBusy = state.busy;
  node.engineSlots = state.slots_max !== undefined && state.slots_max > state.slots ? state.slots_max : null;
  node.acceptsEarly = state.accepts_early ?? false;
  node.formats = unlessSame(node.formats, new Set(state.json_schema));
  node.keywords = state.schema_keywords === undefined ? PROVEN : new Set(state.schema_keywords);
  node.scores = state.scores ?? {};
  node.draining = state.draining;
  node.seenAt = now;
}

/** The same rule as the index applies to connected nodes. */
export const isAble = (node: RosterNode, need: NodeRequirements): boolean =>
  node.models.has(need.model) &&
  (!need.formatted || node.formats.has(need.model)) &&
  meetsRequirements(node, need) &&
  !node.draining &&
  mayWork(node);

/** Nodes with this many checked answers may serve builders who opt out of spot checks. */
const CHECKED_MIN = 1_000;
const isProven = ({ nodeRecord }: RosterNode): boolean => (nodeRecord.checked ?? 0) >= CHECKED_MIN;

/** The conditions of a need that the index does not cover. */
export const meetsRequirements = (node: RosterNode, need: NodeRequirements): boolean =>
  keepsKeywords(node, need) && (need.proven !== true || isProven(node));

export const keepsKeywords = ({ keywords }: RosterNode, need: NodeRequirements): boolean =>
  need.keywords === undefined || need.keywords.every((keyword) => keywords.has(keyword));

export const isOnProbation = ({ answersOwed = 0 }: NodeRecord): boolean => answersOwed > 0;

export const slotsTrusted = ({ slotsMax }: NodeRecord): number => slotsMax ?? Number.POSITIVE_INFINITY;

const elected = (reported: string[], { models }: NodeRecord): Set<string> =>
  new Set(reported.filter((model) => models.includes(model)));

/** Keeps the old set if equal: most reports change nothing, and then the node need not be filed again. */
const unlessSame = (before: Set<string>, now: Set<string>): Set<string> =>
  before.size === now.size && now.isSubsetOf(before) ? before : now;
