/** Every host's nodes, as operators handle them: found, quarantined with a reason, released, cleared for work. */
import { z } from "zod";
import { parseId, publicId, type Uuid } from "../../../base/ids.ts";
import { fault } from "../../../faults.ts";
import type { ListedEntry, NodeEntry } from "../../../operators/nodes.ts";
import { parseFields } from "../../fields.ts";
import { PageFields, page } from "../../lists/pages.ts";
import type { ConsoleRoute, Guards } from "../guards.ts";
import { ReasonFields, SearchText } from "./accounts.ts";
import type { OperatorOptions } from "./options.ts";

export const NODE_STATES = ["registered", "ready", "online", "paused", "quarantined", "retired"] as const;
export type NodeState = (typeof NODE_STATES)[number];

export const NodesQuery = z.object({
  ...PageFields,
  q: SearchText.optional(),
  state: z.enum(NODE_STATES, `must be one of ${NODE_STATES.join(", ")}`).optional(),
  host: z
    .string()
    .refine((text) => parseId("acc", text) !== undefined, "must be a host account's id (acc_…)")
    .transform((text) => parseId("acc", text))
    .optional(),
});

export function nodeRoutes(route: ConsoleRoute, guards: Guards, options: OperatorOptions): void {
  const { audit, directory, fleet, desk, cursors } = options;
  const find = async (text: string | undefined): Promise<NodeEntry> => {
    const id = parseId("node", text ?? "");
    const node = id === undefined ? undefined : await directory.nodes.find(id);
    if (node === undefined) throw fault("node_not_found");
    return node;
  };
  const show = (node: ListedEntry): object => ({
    ...desk.show(node),
    account: publicId("acc", node.accountId),
    account_name: node.hostName,
  });

  route("GET", "/console/api/operator/nodes", guards.operator, async ({ query, json }) => {
    const { cursor, limit, q: text, state, host } = parseFields(NodesQuery, Object.fromEntries(query));
    const filter = { text, host, standing: standingOf(state) };
    json(
      await page({
        cursors,
        list: "nodes",
        cursor,
        limit,
        read: (before, max) =>
          readMatching(
            (from) => directory.nodes.search({ ...filter, before: from, limit: max }),
            (node) => state === undefined || desk.show(node).state === state,
            { before: before as Uuid | undefined, limit: max },
          ),
        position: ({ id }) => id,
        show,
      }),
    );
  });
  route("GET", "/console/api/operator/nodes/:id", guards.operator, async ({ params, json }) => {
    const node = await find(params.id);
    json({ ...show(node), stats: await desk.stats(node.accountId, params.id) });
  });
  route(
    "POST",
    "/console/api/operator/nodes/:id/quarantine",
    guards.operator,
    async ({ who, params, fields, json }) => {
      const { id } = await find(params.id);
      const { reason } = await fields(ReasonFields);
      const [operator, subject] = [who.email, publicId("node", id)];
      await audit.record({ operator, action: "node.quarantine", subject, details: { reason } }, async () =>
        desk.moved(await fleet.quarantine(id, { reason, evidence: {}, by: operator })),
      );
      json(show(await find(params.id)));
    },
  );
  route("POST", "/console/api/operator/nodes/:id/release", guards.operator, async ({ who, params, json }) => {
    const { id } = await find(params.id);
    const [operator, subject] = [who.email, publicId("node", id)];
    await audit.record({ operator, action: "node.release", subject }, async () =>
      desk.moved(await fleet.release(id, operator)),
    );
    json(show(await find(params.id)));
  });
  route("POST", "/console/api/operator/nodes/:id/clear", guards.operator, async ({ who, params, json }) => {
    const { id } = await find(params.id);
    const [operator, subject] = [who.email, publicId("node", id)];
    await audit.record({ operator, action: "node.clear", subject }, async () => {
      const outcome = await fleet.clear(id, operator);
      if (outcome.kind === "refused") throw fault("node_state_conflict", { message: NOT_WITHHELD });
      return desk.moved(outcome);
    });
    json(show(await find(params.id)));
  });
}

export const NOT_WITHHELD = "Nothing of its host keeps this node from work.";

/** What the records say of a node in this state: they do not know which of the ready ones are connected. */
const standingOf = (state: NodeState | undefined) => (state === "online" ? "ready" : state);

/** Reads on where rows were read that do not match, until there are enough or no more. */
async function readMatching(
  read: (before: Uuid | undefined) => Promise<ListedEntry[]>,
  matches: (node: ListedEntry) => boolean,
  { before, limit }: { before: Uuid | undefined; limit: number },
): Promise<ListedEntry[]> {
  const found: ListedEntry[] = [];
  for (let from = before; ; ) {
    const rows = await read(from);
    found.push(...rows.filter(matches));
    if (rows.length < limit || found.length >= limit) return found.slice(0, limit);
    from = rows.at(-1)?.id;
  }
}
