/** What a host may do with its nodes, whichever door it came through: the node API with a token, the console with a session. */
import { z } from "zod";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { fault, invalidRequest } from "../../faults.ts";
import { type Fleet, type ListedNode, type MoveOutcome, type Node, TooManyNodes } from "../../fleet/fleet.ts";
import type { Catalogue } from "../../metering/catalogue.ts";
import { parseFields } from "../fields.ts";
import { PageFields, page } from "../lists/pages.ts";
import { isPlain, isStorable, PLAIN_RULE, STORABLE_RULE } from "../plain-text.ts";
import { type NodeWork, nodeStats, quarantineObject } from "./work.ts";

export interface DeskOptions {
  fleet: Fleet;
  catalogue: () => Catalogue;
  work: NodeWork;
  /** The records of a node changed: every gateway's dispatcher must look again. */
  changed: (nodeId: string) => Promise<void>;
}

/** What a host may tell of a machine: a note, not a store. */
const HARDWARE_BYTES_MAX = 8 * 1024;
const HARDWARE_DEPTH_MAX = 8;

export const Registration = z.object({
  name: z
    .string("must be a string")
    .min(1, "must not be empty")
    .max(200, "must have at most 200 characters")
    .refine(isPlain, PLAIN_RULE),
  hardware: z
    .record(z.string(), z.unknown(), "must be an object")
    // First, because what comes next walks through all of it.
    .refine((facts) => isWithin(facts, HARDWARE_DEPTH_MAX), {
      error: `must be at most ${HARDWARE_DEPTH_MAX} levels deep`,
      abort: true,
    })
    .refine((facts) => Buffer.byteLength(JSON.stringify(facts)) <= HARDWARE_BYTES_MAX, {
      error: "must have at most 8 KiB (8192 bytes) as JSON",
      abort: true,
    })
    .refine(isStorable, STORABLE_RULE)
    .default({}),
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

/** In the query of a list of a host's own nodes. */
export const OwnNodesQuery = z.object(PageFields);

export type NodeDesk = ReturnType<typeof nodeDesk>;

export function nodeDesk({ fleet, catalogue, work, changed }: DeskOptions) {
  const show = (node: ListedNode | Node) => nodeObject(node, work.live(publicId("node", node.id)) !== undefined);
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
    async register(accountId: Uuid, body: unknown) {
      const fields = parseFields(Registration, body);
      try {
        return show(await fleet.register(accountId, fields));
      } catch (cause) {
        if (cause instanceof TooManyNodes) throw fault("too_many_nodes", { cause });
        throw cause;
      }
    },
    list(accountId: Uuid, query: URLSearchParams) {
      const { cursor, limit } = parseFields(OwnNodesQuery, Object.fromEntries(query));
      return page({
        cursors: work.cursors,
        list: `own nodes ${accountId}`,
        cursor,
        limit,
        read: (after, max) => fleet.list(accountId, { after: after as Uuid | undefined, limit: max }),
        position: ({ id }) => id,
        show,
      });
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

/** Whether nothing in a value of JSON lies deeper than so many levels. */
function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isWithin(inner, levels - 1));
}

function nodeObject(node: ListedNode | Node, connected: boolean) {
  return {
    id: publicId("node", node.id),
    object: "node",
    name: node.name,
    state: node.standing === "ready" && connected ? "online" : node.standing,
    models: node.models,
    // In lists it is left out: 100 machines at length are no page.
    ...("hardware" in node && { hardware: node.hardware }),
    agent: node.agent,
    quarantine: quarantineObject(node),
    probation: node.probation,
    withheld: node.withheld,
    created_at: Math.floor(node.createdAt.getTime() / 1000),
  };
}
