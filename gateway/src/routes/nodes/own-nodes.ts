/** A host's actions on its own nodes, for the node API and for the console. */
import type { ListedNode as ListedShown, Node as NodeShown } from "@tollgate/api/nodes/response-schemas.ts";
import type { z } from "zod";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { toUnixSeconds } from "../../base/time.ts";
import { type Fault, type FaultOptions, ruleViolation } from "../../faults.ts";
import { type ListedNode, type Node, NodeNameTaken, type NodeStateChangeOutcome } from "../../fleet/fleet.ts";
import { listPage } from "../../http/lists/list-pages.ts";
import type { InferenceServices } from "../../inference/services.ts";
import type { SiteServices } from "../services.ts";
import type { NodeServices } from "./services.ts";

export type OwnNodesDependencies = Pick<NodeServices, "fleet" | "nodes" | "nodeChanged"> &
  Pick<InferenceServices, "catalogue"> &
  Pick<SiteServices, "cursors">;

/** Creates an error with one of the codes that the route declares. */
type Refuse<Code extends string> = (code: Code, more?: FaultOptions) => Fault;
type RefuseMove = Refuse<"node_not_found" | "node_quarantined" | "node_state_conflict">;

export function ownNodeHandlers(parts: OwnNodesDependencies) {
  const { fleet, catalogue, cursors, nodeChanged } = parts;
  const find = async (accountId: Uuid, text: string): Promise<Node | undefined> => {
    const id = parseId("node", text);
    return id === undefined ? undefined : await fleet.find(accountId, id);
  };
  const show = (node: Node): z.input<typeof NodeShown> => ({
    ...toNodeListItem(parts, node),
    hardware: node.hardware,
  });
  return {
    find,
    show,

    list: (accountId: Uuid, query: { cursor?: string | undefined; limit: number }) =>
      listPage({
        cursors,
        list: `own nodes ${accountId}`,
        query,
        read: (after, max) => fleet.list(accountId, { after: after as Uuid | undefined, limit: max }),
        position: ({ id }) => id,
        show: (node) => toNodeListItem(parts, node),
      }),

    async elect(
      accountId: Uuid,
      text: string,
      chosen: () => string[],
      refuse: Refuse<"node_not_found" | "node_state_conflict">,
    ) {
      const node = await find(accountId, text);
      if (node === undefined) throw refuse("node_not_found");
      const models = chosen();
      for (const [i, model] of models.entries()) {
        if (!catalogue().active.has(model))
          throw ruleViolation(`models[${i}]`, `must be the ID of an active model in the catalogue`);
      }
      const outcome = await fleet.elect(accountId, node.id, [...new Set(models)]);
      if (outcome.kind === "refused")
        throw refuse("node_state_conflict", { message: formatNotAllowedMessage(outcome.standing) });
      return show(await showChangedNode(outcome, refuse, nodeChanged));
    },

    async rename(
      accountId: Uuid,
      text: string,
      chosen: () => string,
      refuse: Refuse<"node_not_found" | "node_name_taken">,
    ) {
      const id = parseId("node", text);
      const renamed =
        id &&
        (await fleet.find(accountId, id)) &&
        (await fleet.rename(accountId, id, chosen()).catch((cause) => {
          throw cause instanceof NodeNameTaken ? refuse("node_name_taken", { cause }) : cause;
        }));
      if (renamed === undefined) throw refuse("node_not_found");
      return show(renamed);
    },

    async retire(accountId: Uuid, text: string, refuse: Refuse<"node_not_found" | "node_state_conflict">) {
      const node = await find(accountId, text);
      if (node === undefined) throw refuse("node_not_found");
      const outcome = await fleet.move(accountId, node.id, "retire");
      if (outcome.kind === "refused")
        throw refuse("node_state_conflict", { message: formatNotAllowedMessage(outcome.standing) });
      return show(await showChangedNode(outcome, refuse, nodeChanged));
    },

    async move(accountId: Uuid, text: string, move: "pause" | "resume", refuse: RefuseMove) {
      const node = await find(accountId, text);
      if (node === undefined) throw refuse("node_not_found");
      const outcome = await fleet.move(accountId, node.id, move);
      if (outcome.kind === "refused") throw refusedMove(outcome.standing, refuse);
      return show(await showChangedNode(outcome, refuse, nodeChanged));
    },
  };
}

/** Returns a node after its state changed and all gateways were notified. */
export async function showChangedNode(
  outcome: Exclude<NodeStateChangeOutcome, { kind: "refused" }>,
  refuse: Refuse<"node_not_found">,
  nodeChanged: NodeServices["nodeChanged"],
): Promise<Node> {
  if (outcome.kind === "absent") throw refuse("node_not_found");
  await nodeChanged(publicId("node", outcome.node.id));
  return outcome.node;
}

function refusedMove(standing: string, refuse: RefuseMove): Fault {
  if (standing === "quarantined") return refuse("node_quarantined");
  return refuse("node_state_conflict", { message: formatNotAllowedMessage(standing) });
}

export const formatNotAllowedMessage = (standing: string): string =>
  `This action is not possible while the node is ${standing}.`;

/** A node in a list. Its hardware description is left out, because it would make a page too large. */
export function toNodeListItem({ nodes }: Pick<NodeServices, "nodes">, node: ListedNode): z.input<typeof ListedShown> {
  const id = publicId("node", node.id);
  return {
    id,
    object: "node",
    name: node.name,
    state: node.standing === "ready" && nodes.find(id) !== undefined ? "online" : node.standing,
    models: node.models,
    agent: node.agent,
    quarantine: quarantineObject(node),
    probation: node.probation,
    withheld: node.withheld,
    created_at: toUnixSeconds(node.createdAt),
  };
}

function quarantineObject({ quarantine }: ListedNode) {
  if (quarantine === null) return null;
  const { reason, evidence, at } = quarantine;
  return { reason, evidence, at: toUnixSeconds(at) };
}
