/** The node search in the URL's query parameters. */
import type { NodeSearch, NodeState } from "../../../api/answer-types.ts";
import { NODE_STATES } from "../../../nodes/node-state.tsx";

interface NodesSearch extends NodeSearch {
  /** The node whose details are open. */
  node?: string;
}

export function readNodesSearch({ q, state, host, node }: Record<string, unknown>): NodesSearch {
  // The router parses text that looks like a number as a number.
  const text = typeof q === "number" ? String(q) : q;
  return {
    ...(typeof text === "string" && text !== "" && { q: text }),
    ...(NODE_STATES.includes(state as NodeState) && { state: state as NodeState }),
    ...(typeof host === "string" && { host }),
    ...(typeof node === "string" && { node }),
  };
}
