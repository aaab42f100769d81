/** Every host's nodes, as operators handle them: quarantine with its reason, evidence, release. */
import { parseId, publicId } from "../../../base/ids.ts";
import { fault } from "../../../faults.ts";
import type { Node } from "../../../fleet/fleet.ts";
import type { ConsoleRoute, Guards } from "../guards.ts";
import { ReasonFields } from "./accounts.ts";
import type { OperatorOptions } from "./options.ts";

export function nodeRoutes(route: ConsoleRoute, guards: Guards, { audit, fleet, desk }: OperatorOptions): void {
  const find = async (text: string | undefined): Promise<Node> => {
    const id = parseId("node", text ?? "");
    const node = id === undefined ? undefined : await fleet.find(null, id);
    if (node === undefined) throw fault("node_not_found");
    return node;
  };
  const show = (node: Node): object => ({ ...desk.show(node), account: publicId("acc", node.accountId) });

  route("GET", "/console/api/operator/nodes", guards.operator, async ({ json }) =>
    json({ object: "list", data: (await fleet.list(null)).map(show), next_cursor: null }),
  );
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
}
