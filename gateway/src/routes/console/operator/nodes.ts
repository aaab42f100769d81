/** Operators' routes for all hosts' nodes: list, quarantine with a reason, release, and clear for requests. */
import type { operatorNodeRoutes } from "@tollgate/api/console/operator-nodes.ts";
import type { NodeState } from "@tollgate/api/enumerations.ts";
import { parseId, publicId, type Uuid } from "../../../base/ids.ts";
import type { Fault } from "../../../faults.ts";
import type { Node } from "../../../fleet/fleet.ts";
import { listPage } from "../../../http/lists/list-pages.ts";
import type { Handlers } from "../../../http/serve-routes.ts";
import type { ListedNodeWithHostName, NodeWithHostName } from "../../../operators/node-directory.ts";
import type { OperatorServices } from "../../../operators/services.ts";
import { type NodeStatsDependencies, readNodeStats } from "../../nodes/node-stats.ts";
import { formatNotAllowedMessage, showChangedNode, toNodeListItem } from "../../nodes/own-nodes.ts";
import type { NodeServices } from "../../nodes/services.ts";
import { readSpotChecksPage, type SpotChecksDependencies } from "../../nodes/spot-checks.ts";

export function operatorNodeHandlers(
  parts: Pick<OperatorServices, "audit" | "directory"> &
    Pick<NodeServices, "fleet" | "nodeChanged"> &
    SpotChecksDependencies &
    NodeStatsDependencies,
): Handlers<typeof operatorNodeRoutes> {
  const { audit, directory, fleet, nodes, cursors, nodeChanged } = parts;
  const find = async (text: string, refuse: (code: "node_not_found") => Fault): Promise<NodeWithHostName> => {
    const id = parseId("node", text);
    const node = id === undefined ? undefined : await directory.nodes.find(id);
    if (node === undefined) throw refuse("node_not_found");
    return node;
  };
  const owner = ({ accountId, hostName }: ListedNodeWithHostName) => ({
    account: publicId("acc", accountId),
    account_name: hostName,
  });
  const show = (node: NodeWithHostName) => ({
    ...toNodeListItem(parts, node),
    hardware: node.hardware,
    ...owner(node),
  });
  return {
    listPlatformNodes({ query }) {
      const { q: text, state } = query;
      const host = query.host === undefined ? undefined : parseId("acc", query.host);
      const filter = { text, host, standing: standingOf(state) };
      return listPage({
        cursors,
        list: "nodes",
        query,
        read: (before, max) =>
          readMatching(
            (from) => directory.nodes.search({ ...filter, before: from, limit: max }),
            (node) => state === undefined || toNodeListItem(parts, node).state === state,
            { before: before as Uuid | undefined, limit: max },
          ),
        position: ({ id }) => id,
        show: (node) => ({ ...toNodeListItem(parts, node), ...owner(node) }),
      });
    },

    async getPlatformNode({ params, refuse }) {
      const node = await find(params.id, refuse);
      const lengths = nodes.lengthEvidenceOf(publicId("node", node.id));
      return { ...show(node), stats: await readNodeStats(parts, node), unusual_lengths: lengths };
    },

    async listPlatformNodeChecks({ params, query, refuse }) {
      return readSpotChecksPage(parts, (await find(params.id, refuse)).id, query);
    },

    async quarantineNode({ who, params, body, refuse }) {
      const { id } = await find(params.id, refuse);
      const { reason } = body();
      const [operator, subject] = [who.email, publicId("node", id)];
      await audit.record(
        { operator, action: "node.quarantine", subject, details: { reason } },
        async (): Promise<Node> => {
          const outcome = await fleet.quarantine(id, { reason, evidence: {}, by: operator });
          if (outcome.kind === "refused")
            throw refuse("node_state_conflict", { message: formatNotAllowedMessage(outcome.standing) });
          return showChangedNode(outcome, refuse, nodeChanged);
        },
      );
      return show(await find(params.id, refuse));
    },

    async releaseNode({ who, params, refuse }) {
      const { id } = await find(params.id, refuse);
      const [operator, subject] = [who.email, publicId("node", id)];
      await audit.record({ operator, action: "node.release", subject }, async (): Promise<Node> => {
        const outcome = await fleet.release(id, operator);
        if (outcome.kind === "refused")
          throw refuse("node_state_conflict", { message: formatNotAllowedMessage(outcome.standing) });
        return showChangedNode(outcome, refuse, nodeChanged);
      });
      return show(await find(params.id, refuse));
    },

    async clearNode({ who, params, refuse }) {
      const { id } = await find(params.id, refuse);
      const [operator, subject] = [who.email, publicId("node", id)];
      await audit.record({ operator, action: "node.clear", subject }, async (): Promise<Node> => {
        const outcome = await fleet.clear(id, operator);
        if (outcome.kind === "refused") throw refuse("node_state_conflict");
        return showChangedNode(outcome, refuse, nodeChanged);
      });
      return show(await find(params.id, refuse));
    },
  };
}

/**
 * The standing to search for in the database. It does not store which nodes are connected, so "online" nodes are
 * "ready" there.
 */
const standingOf = (state: NodeState | undefined) => (state === "online" ? "ready" : state);

/** Reads more rows until enough match or none are left. */
async function readMatching(
  read: (before: Uuid | undefined) => Promise<ListedNodeWithHostName[]>,
  matches: (node: ListedNodeWithHostName) => boolean,
  { before, limit }: { before: Uuid | undefined; limit: number },
): Promise<ListedNodeWithHostName[]> {
  const found: ListedNodeWithHostName[] = [];
  for (let from = before; ; ) {
    const rows = await read(from);
    found.push(...rows.filter(matches));
    if (rows.length < limit || found.length >= limit) return found.slice(0, limit);
    from = rows.at(-1)?.id;
  }
}
