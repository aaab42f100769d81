/** A connected node as its own state frames describe it and the fleet's records allow. */
import type { NodeState, ScoringKind } from "@tollgate/protocol/frames.ts";
import type { NodeLicence } from "./licences.ts";
import type { Need } from "./shelves.ts";

export interface RosterNode {
  /** As it stands in subjects: `node_…`. */
  id: string;
  licence: NodeLicence;
  /** What it says it can serve, and of these what its host elected. */
  reported: string[];
  models: Set<string>;
  /** The models for which it says that its engine keeps to an output format. */
  formats: Set<string>;
  /** The models of which it says that its engine scores answers, and how. */
  scores: Readonly<Record<string, ScoringKind>>;
  /** How many jobs it says it can run at once, and how many of them it is trusted with. */
  reportedSlots: number;
  slots: number;
  /** What the node last said it runs, plus what was sent since, minus what ended since. */
  outstanding: number;
  draining: boolean;
  seenAt: number;
  /** It left a job without a sign of life: until then others are asked first. */
  shunnedUntil: number;
}

export function newRosterNode(id: string, licence: NodeLicence): RosterNode {
  return {
    id,
    licence,
    reported: [],
    models: new Set(),
    formats: new Set(),
    scores: {},
    reportedSlots: 0,
    slots: 0,
    outstanding: 0,
    draining: false,
    seenAt: 0,
    shunnedUntil: 0,
  };
}

/** What the records say of the node now. */
export function applyLicence(node: RosterNode, licence: NodeLicence): void {
  node.licence = licence;
  node.models = unlessSame(node.models, elected(node.reported, licence));
  node.slots = trustedSlots(node.reportedSlots, licence);
}

/** What the node says of itself at `now`. `inFlight`: how many jobs this gateway has on it. */
export function applyState(node: RosterNode, state: NodeState, inFlight: number, now: number): void {
  node.reported = state.models;
  node.reportedSlots = state.slots;
  applyLicence(node, node.licence);
  node.formats = unlessSame(node.formats, new Set(state.json_schema));
  node.scores = state.scores ?? {};
  // A node on probation is not believed when it says that it is free.
  node.outstanding = isOnProbation(node.licence) ? Math.max(state.busy, inFlight) : state.busy;
  node.draining = state.draining;
  node.seenAt = now;
}

/** As the shelves have it of those that are connected. */
export const isAble = (node: RosterNode, { model, formatted = false, proven = false }: Need): boolean =>
  node.models.has(model) && (!formatted || node.formats.has(model)) && (!proven || isProven(node)) && !node.draining;

/** So many checked answers make a node one for builders who let nobody check theirs. */
const CHECKED_MIN = 1_000;
export const isProven = ({ licence }: RosterNode): boolean => (licence.checked ?? 0) >= CHECKED_MIN;

const isOnProbation = ({ answersOwed = 0 }: NodeLicence): boolean => answersOwed > 0;

const trustedSlots = (reported: number, licence: NodeLicence): number =>
  isOnProbation(licence) ? Math.min(reported, 1) : reported;

const elected = (reported: string[], { models }: NodeLicence): Set<string> =>
  new Set(reported.filter((model) => models.includes(model)));

/** Most reports say the same of what a node serves: nothing has to be filed elsewhere for them. */
const unlessSame = (before: Set<string>, now: Set<string>): Set<string> =>
  before.size === now.size && now.isSubsetOf(before) ? before : now;
