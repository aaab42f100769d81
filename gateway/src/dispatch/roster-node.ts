/** A connected node: the state that it reports, limited by its node record and by the gateways' observations. */
import type { NodeState, ScoringKind } from "@tollgate/protocol/frames.ts";
import { DEFAULT_SCHEMA_KEYWORDS } from "@tollgate/protocol/json-schema.ts";
import { CHECKED_MIN, REFUSAL_PENALTIES } from "../base/node-trust-thresholds.ts";
import { mayReceiveRequests, type RequiredNodeProperties } from "./node-index.ts";
import type { NodeRecord } from "./node-records.ts";

export interface RosterNode {
  /** The node's ID in the plane's subjects: `node_…`. */
  id: string;
  nodeRecord: NodeRecord;
  /** The models that the node reports, and those of them that its host elected (chose). */
  reported: string[];
  models: Set<string>;
  /** The models for which the node reports that its engine enforces output formats. */
  formats: Set<string>;
  /** The JSON Schema keywords that the node's engine enforces. */
  keywords: ReadonlySet<string>;
  /** The models whose answers the node's engine can score (for spot checks), and how. */
  scores: Readonly<Record<string, ScoringKind>>;
  /** The slots and running jobs that the node reports, which are only displayed. */
  reportedSlots: number;
  reportedBusy: number;
  /** The engine's slots, if the agent reports fewer to keep pauses between tokens short. Only displayed. */
  engineSlots: number | null;
  slots: number;
  /** The number of the node's jobs, by the gateways' counts. */
  outstanding: number;
  /** Whether the node accepts a job before it has received the body. */
  acceptsEarly: boolean;
  /**
   * Whether the node is trusted with the prompt in the offer: it is not on probation, and has not declined often
   * recently.
   */
  inGoodStanding: boolean;
  draining: boolean;
  seenAt: number;
  /** Until this time other nodes are asked first, because this one declined, failed or was slow. */
  shunnedUntil: number;
}

/** The keywords that the agent's own start-up test proves, for agents that report no keywords. */
const PROVEN: ReadonlySet<string> = new Set(DEFAULT_SCHEMA_KEYWORDS);

export function createRosterNode(id: string, nodeRecord: NodeRecord): RosterNode {
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

/** The gateways' observations of the node's responses to offers. */
interface Seen {
  /** The number of refusals and late acceptances in a row. */
  refusals: number;
  /** The most slots that gateways use since the node refused requests. The number rises again with time. */
  slotsMax: number;
}

/** Applies the node's record and the gateways' observations. */
export function applyRecord(node: RosterNode, nodeRecord: NodeRecord, { refusals, slotsMax }: Seen): void {
  node.nodeRecord = nodeRecord;
  node.models = unlessSame(node.models, elected(node.reported, nodeRecord));
  node.slots = Math.min(node.reportedSlots, slotsMax, findSlotLimit(nodeRecord));
  node.inGoodStanding = !isOnProbation(nodeRecord) && refusals <= REFUSAL_PENALTIES.inGoodStandingMax;
}

/** Applies the state that the node reported at `now`. Call `applyRecord` afterwards. */
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

/** Whether a node meets the requirements, for nodes that are not in the index. */
export const canServe = (node: RosterNode, need: RequiredNodeProperties): boolean =>
  node.models.has(need.model) &&
  (!need.formatted || node.formats.has(need.model)) &&
  meetsRequirements(node, need) &&
  !node.draining &&
  mayReceiveRequests(node);

const isProven = ({ nodeRecord }: RosterNode, model: string): boolean =>
  (nodeRecord.checked?.[model] ?? 0) >= CHECKED_MIN;

/** Whether the node meets the requirements that the index (by model and output format) does not check. */
export const meetsRequirements = (node: RosterNode, need: RequiredNodeProperties): boolean =>
  enforcesSchemaKeywords(node, need) && (need.proven !== true || isProven(node, need.model));

export const enforcesSchemaKeywords = ({ keywords }: RosterNode, need: RequiredNodeProperties): boolean =>
  need.keywords === undefined || need.keywords.every((keyword) => keywords.has(keyword));

export const isOnProbation = ({ answersOwed = 0 }: NodeRecord): boolean => answersOwed > 0;

export const findSlotLimit = ({ slotsMax }: NodeRecord): number => slotsMax ?? Number.POSITIVE_INFINITY;

const elected = (reported: string[], { models }: NodeRecord): Set<string> =>
  new Set(reported.filter((model) => models.includes(model)));

/** Returns the old set if both are equal. Most reports change nothing, and then the index need not be updated. */
const unlessSame = (before: Set<string>, now: Set<string>): Set<string> =>
  before.size === now.size && now.isSubsetOf(before) ? before : now;
