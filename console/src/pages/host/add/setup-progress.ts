/** The progress of adding a machine: compares the platform's current state with its state when the page was opened. */
import { useState } from "react";
import type { HostToken, ListedNode } from "../../../api/answer-types.ts";

interface Seen {
  nodes: ListedNode[] | undefined;
  tokens: HostToken[] | undefined;
  /** The secret of the token that was created on this page. */
  secret: string | undefined;
}

interface Progress {
  /** The new node; undefined until it has registered. */
  node: ListedNode | undefined;
  loggedIn: boolean;
  elected: boolean;
  online: boolean;
}

export function useSetupProgress(seen: Seen): Progress {
  const [before, setBefore] = useState<Set<string>>();
  if (before === undefined && seen.nodes !== undefined) setBefore(new Set(seen.nodes.map(({ id }) => id)));
  return computeSetupProgress(seen, before);
}

export function computeSetupProgress({ nodes, tokens, secret }: Seen, before: Set<string> | undefined): Progress {
  const token = tokens?.find(({ start }) => secret?.startsWith(`${start}_`) === true);
  // A node is new if it registered after the page was opened. If the user left the page and returned, a node that
  // registered after the page's token was created is new as well.
  const isNew = ({ id, created_at }: ListedNode): boolean =>
    (before !== undefined && !before.has(id)) || (token !== undefined && created_at > token.created_at);
  const node = nodes?.find(isNew);
  return {
    node,
    loggedIn: token !== undefined && token.last_used_at !== null,
    elected: node !== undefined && node.models.length > 0,
    online: node?.state === "online",
  };
}
