/** A node's state as a word and a tone; and what that word means. */
import type { NodeState as State } from "../api/host-types.ts";
import { Badge, type Tone } from "./badge.tsx";

const STATES: Record<State, { tone: Tone; says: string }> = {
  registered: { tone: "neutral", says: "It has elected no model yet." },
  ready: { tone: "warn", says: "It elected models and is not connected." },
  online: { tone: "good", says: "It is connected and takes requests." },
  paused: { tone: "warn", says: "It is offered no requests until it is resumed." },
  quarantined: { tone: "bad", says: "The platform keeps it from work until an operator releases it." },
  retired: { tone: "neutral", says: "It is out of service for good." },
};

export const NODE_STATES = Object.keys(STATES) as State[];
export const meaningOfState = (state: State): string => STATES[state].says;

export const NodeState = ({ of }: { of: State }) => <Badge tone={STATES[of].tone}>{of}</Badge>;
