/** How far a node in good standing is trusted, by what its record says. Pure. */

/** What the platform asks of nodes before it trusts them. */
export interface NodeRules {
  /** A new node gets one request at a time until it has answered so many well; 0: every node is trusted at once. */
  probationAnswers: number;
  /** A host with a node in quarantine gets no work on nodes that it registers afterwards. */
  hostSanction: boolean;
}

export const NODE_RULES: NodeRules = { probationAnswers: 20, hostSanction: true };

export interface Probation {
  /** Honest answers so far, and how many it takes. */
  answers: number;
  needed: number;
}

/** Another node of its host is in quarantine. */
export type Withheld = "host_quarantine";

export interface NodeRecord {
  honestAnswers: number;
  hostQuarantined: boolean;
}

export function trustOf(
  { honestAnswers, hostQuarantined }: NodeRecord,
  { probationAnswers: needed, hostSanction }: NodeRules,
): { probation: Probation | null; withheld: Withheld | null } {
  return {
    probation: honestAnswers >= needed ? null : { answers: honestAnswers, needed },
    withheld: hostSanction && hostQuarantined ? "host_quarantine" : null,
  };
}
