/** A connected node as its own state frames describe it and the platform's records and sight of it allow. */
import type { NodeState, ScoringKind } from "@tollgate/protocol/frames.ts";
import { PROVEN_KEYWORDS } from "@tollgate/protocol/json-schema.ts";
import { REFUSALS } from "../base/node-thresholds.ts";
import { mayWork, type Need } from "./node-index.ts";
import type { NodeRecord } from "./node-records.ts";

export interface RosterNode {
  /** As it stands in subjects: `node_…`. */
  id: string;
  nodeRecord: NodeRecord;
  /** What it says it can serve, and of these what its host elected. */
  reported: string[];
  models: Set<string>;
  /** The models for which it says that its engine keeps to an output format. */
  formats: Set<string>;
  /** The keywords of JSON Schema that its engine enforces. */
  keywords: ReadonlySet<string>;
  /** The models of which it says that its engine scores answers, and how. */
  scores: Readonly<Record<string, ScoringKind>>;
  /** How many jobs it says it can run at once and runs, which is shown and decides nothing; how many it is trusted with. */
  reportedSlots: number;
  reportedBusy: number;
  /** How many its engine would take, where it says that it takes fewer for the pauses between tokens. Shown only. */
  engineSlots: number | null;
  slots: number;
  /** What the gateways gave it. */
  outstanding: number;
  /** It accepts a job before it has the body. */
  acceptsEarly: boolean;
  /** It is not on probation and did not refuse too often lately: a prompt travels with the offer. */
  inGoodStanding: boolean;
  draining: boolean;
  seenAt: number;
  /** It declined, failed or crawled: until then others are asked first. */
  shunnedUntil: number;
}

/** What the agent's own test of formats proves, where it says no more. */
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

/** What the gateways saw of how the node takes offers. */
interface Seen {
  /** Refusals and late acceptances in a row. */
  refusals: number;
  /** Slots that are left to it after them. */
  slotsMax: number;
}

/** What the records and the gateways' own sight of the node say of it now. */
export function applyRecord(node: RosterNode, nodeRecord: NodeRecord, { refusals, slotsMax }: Seen): void {
  node.nodeRecord = nodeRecord;
  node.models = unlessSame(node.models, elected(node.reported, nodeRecord));
  node.slots = Math.min(node.reportedSlots, slotsMax, slotsTrusted(nodeRecord));
  node.inGoodStanding = !isOnProbation(nodeRecord) && refusals <= REFUSALS.inGoodStandingMax;
}

/** What the node says of itself at `now`. `applyRecord` follows. */
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

/** As the lists have it of those that are connected. */
export const isAble = (node: RosterNode, need: Need): boolean =>
  node.models.has(need.model) &&
  (!need.formatted || node.formats.has(need.model)) &&
  suits(node, need) &&
  !node.draining &&
  mayWork(node);

/** So many checked answers make a node one for builders who let no one check theirs. */
const CHECKED_MIN = 1_000;
const isProven = ({ nodeRecord }: RosterNode): boolean => (nodeRecord.checked ?? 0) >= CHECKED_MIN;

/** What a need asks beyond what the lists are sorted by. */
export const suits = (node: RosterNode, need: Need): boolean =>
  keepsKeywords(node, need) && (need.proven !== true || isProven(node));

export const keepsKeywords = ({ keywords }: RosterNode, need: Need): boolean =>
  need.keywords === undefined || need.keywords.every((keyword) => keywords.has(keyword));

export const isOnProbation = ({ answersOwed = 0 }: NodeRecord): boolean => answersOwed > 0;

export const slotsTrusted = ({ slotsMax }: NodeRecord): number => slotsMax ?? Number.POSITIVE_INFINITY;

const elected = (reported: string[], { models }: NodeRecord): Set<string> =>
  new Set(reported.filter((model) => models.includes(model)));

/** Most reports say the same of what a node serves: nothing has to be filed elsewhere for them. */
const unlessSame = (before: Set<string>, now: Set<string>): Set<string> =>
  before.size === now.size && now.isSubsetOf(before) ? before : now;
