/** A node's state as a colored word with an explanation. */
import type { NodeState as State } from "../api/answer-types.ts";
import { Badge, type Tone } from "../ui/badge.tsx";

const STATES: Record<State, { tone: Tone; says: string }> = {
  registered: { tone: "neutral", says: "No models chosen yet." },
  ready: { tone: "warn", says: "Models chosen. Not connected." },
  online: { tone: "good", says: "Connected and accepting requests." },
  paused: { tone: "warn", says: "The node receives no requests until its host resumes it." },
  quarantined: { tone: "bad", says: "The node receives no requests until an operator releases it." },
  retired: { tone: "neutral", says: "Permanently out of service." },
};

export const NODE_STATES = Object.keys(STATES) as State[];
export const explainNodeState = (state: State): string => STATES[state].says;

export const NodeState = ({ of }: { of: State }) => <Badge tone={STATES[of].tone}>{of}</Badge>;
