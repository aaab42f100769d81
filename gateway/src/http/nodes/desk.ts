/** What a host may do with its nodes, whichever door it came through: the node API with a token, the console with a session. */
import { z } from "zod";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { fault, invalidRequest } from "../../faults.ts";
import type { Fleet, MoveOutcome, Node } from "../../fleet/fleet.ts";
import type { Catalogue } from "../../metering/catalogue.ts";
import { parseFields } from "../fields.ts";
import { isPlain, isStorable, PLAIN_RULE, STORABLE_RULE } from "../plain-text.ts";
import { type NodeWork, nodeStats, quarantineObject } from "./work.ts";

export interface DeskOptions {
  fleet: Fleet;
  catalogue: () => Catalogue;
  work: NodeWork;
  /** The records of a node changed: every gateway's dispatcher must look again. */
  changed: (nodeId: string) => Promise<void>;
}

export const Registration = z.object({
  name: z
    .string("must be a string")
    .min(1, "must not be empty")
    .max(200, "must have at most 200 characters")
    .refine(isPlain, PLAIN_RULE),
  hardware: z.record(z.string(), z.unknown(), "must be an object").refine(isStorable, STORABLE_RULE).default({}),
  agent: z
    .string("must be a string")
    .max(64, "must have at most 64 characters")
    .refine(isPlain, PLAIN_RULE)
    .default(""),
});
export const Elections = z.object({
  models: z
    .array(z.string("must be a model id"), "must be an array of model ids")
    .max(256, "must hold at most 256 ids"),
});

export type NodeDesk = ReturnType<typeof nodeDesk>;

export function nodeDesk({ fleet, catalogue, work, changed }: DeskOptions) {
  const show = (node: Node) => nodeObject(node, work.live(publicId("node", node.id)) !== undefined);
  const own = async (accountId: Uuid, id: string | undefined): Promise<Node> => {
    const uuid = parseId("node", id ?? "");
    const node = uuid === undefined ? undefined : await fleet.find(accountId, uuid);
    if (node === undefined) throw fault("node_not_found");
    return node;
  };
  const moved = async (outcome: MoveOutcome): Promise<object> => {
    if (outcome.kind === "absent") throw fault("node_not_found");
    if (outcome.kind === "refused") throw refusedMove(outcome.standing);
    await changed(publicId("node", outcome.node.id));
    return show(outcome.node);
  };
  return {
    own,
    show,
    moved,
    register: async (accountId: Uuid, body: unknown) =>
      show(await fleet.register(accountId, parseFields(Registration, body))),
    async list(accountId: Uuid) {
      return { object: "list", data: (await fleet.list(accountId)).map(show), next_cursor: null };
    },
    async elect(accountId: Uuid, id: string | undefined, body: unknown) {
      const node = await own(accountId, id);
      const { models } = parseFields(Elections, body);
      for (const [i, model] of models.entries()) {
        if (!catalogue().active.has(model))
          throw invalidRequest(`models[${i}]`, `models[${i}] must be an active model of the catalogue`);
      }
      return moved(await fleet.elect(accountId, node.id, [...new Set(models)]));
    },
    move: async (accountId: Uuid, id: string | undefined, move: "pause" | "resume") =>
      moved(await fleet.move(accountId, (await own(accountId, id)).id, move)),
    async stats(accountId: Uuid, id: string | undefined) {
      const node = await own(accountId, id);
      return nodeStats(work, node, show(node));
    },
  };
}

export function refusedMove(standing: string): Error {
  if (standing === "quarantined") return fault("node_quarantined");
  return fault("node_state_conflict", { message: `The node is ${standing}, which does not allow this.` });
}

function nodeObject(node: Node, connected: boolean) {
  return {
    id: publicId("node", node.id),
    object: "node",
    name: node.name,
    state: node.standing === "ready" && connected ? "online" : node.standing,
    models: node.models,
    hardware: node.hardware,
    agent: node.agent,
    quarantine: quarantineObject(node),
    created_at: Math.floor(node.createdAt.getTime() / 1000),
  };
}
