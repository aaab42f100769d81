/** The node API: what a host's agent and CLI speak to. Every route acts for the account of a host token. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import type { Log } from "../../base/log.ts";
import type { NodeCredentials } from "../../dispatch/plane.ts";
import { fault, invalidRequest } from "../../faults.ts";
import type { Fleet, MoveOutcome, Node } from "../../fleet/fleet.ts";
import type { Secrets } from "../../keys/keys.ts";
import type { Catalogue } from "../../metering/catalogue.ts";
import { type DoorOptions, type OpenCall, through } from "../door.ts";
import { parseFields } from "../fields.ts";
import { earningsList, modelsForHosts, type NodeWork, nodeStats, quarantineObject, tryNode } from "./work.ts";

export interface NodeApiOptions {
  door: DoorOptions;
  log: Log;
  hostTokens: Secrets;
  fleet: Fleet;
  catalogue: () => Catalogue;
  /** Undefined: the platform has no dispatch plane. */
  mint: ((nodeId: string) => Promise<NodeCredentials>) | undefined;
  /** The node's subjects on the plane, by its public id. */
  subjects: (nodeId: string) => { publish: string[]; subscribe: string[] };
  work: NodeWork;
  receiptOfHost: (hostAccountId: Uuid, requestId: Uuid) => Promise<object | undefined>;
  /** The records of a node changed: every gateway's dispatcher must look again. */
  changed: (nodeId: string) => Promise<void>;
}

const Registration = z.object({
  name: z.string("must be a string").min(1, "must not be empty").max(200, "must have at most 200 characters"),
  hardware: z.record(z.string(), z.unknown(), "must be an object").default({}),
  agent: z.string("must be a string").max(64, "must have at most 64 characters").default(""),
});
const Elections = z.object({
  models: z
    .array(z.string("must be a model id"), "must be an array of model ids")
    .max(256, "must hold at most 256 ids"),
});

type Handle = (call: OpenCall, accountId: Uuid, params: Record<string, string>) => Promise<object>;

export function nodeRoutes(app: FastifyInstance, options: NodeApiOptions): void {
  const { door, hostTokens, fleet, catalogue, work } = options;
  const route = (method: "GET" | "POST" | "PUT", url: string, handle: Handle): void => {
    app.route({
      method,
      url: `/node/v1${url}`,
      handler: async (request: FastifyRequest, reply: FastifyReply) => {
        reply.hijack();
        await through(door, { request: request.raw, response: reply.raw }, async (call) => {
          const holder = await hostTokens.authenticate(call.authorization);
          if (holder === undefined) throw fault("invalid_host_token");
          const body = await handle(call, holder.accountId, request.params as Record<string, string>);
          call.reply.json(200, JSON.stringify(body));
        });
      },
    });
  };
  const show = (node: Node): NodeObject => nodeObject(node, work.live(publicId("node", node.id)) !== undefined);
  const own = async (accountId: Uuid, params: Record<string, string>): Promise<Node> => {
    const id = parseId("node", params.id ?? "");
    const node = id === undefined ? undefined : await fleet.find(accountId, id);
    if (node === undefined) throw fault("node_not_found");
    return node;
  };
  const moved = async (outcome: MoveOutcome): Promise<object> => {
    if (outcome.kind === "absent") throw fault("node_not_found");
    if (outcome.kind === "refused") throw refusedMove(outcome.standing);
    await options.changed(publicId("node", outcome.node.id));
    return show(outcome.node);
  };

  route("POST", "/nodes", async (call, accountId) =>
    show(await fleet.register(accountId, parseFields(Registration, await call.readJson()))),
  );
  route("GET", "/nodes", async (_call, accountId) => ({
    object: "list",
    data: (await fleet.list(accountId)).map(show),
    next_cursor: null,
  }));
  route("GET", "/nodes/:id", async (_call, accountId, params) => show(await own(accountId, params)));
  route("PUT", "/nodes/:id/elections", async (call, accountId, params) => {
    const node = await own(accountId, params);
    const { models } = parseFields(Elections, await call.readJson());
    for (const [i, model] of models.entries()) {
      if (!catalogue().active.has(model))
        throw invalidRequest(`models[${i}]`, `models[${i}] must be an active model of the catalogue`);
    }
    return moved(await fleet.elect(accountId, node.id, [...new Set(models)]));
  });
  route("POST", "/nodes/:id/pause", async (_call, accountId, params) =>
    moved(await fleet.move(accountId, (await own(accountId, params)).id, "pause")),
  );
  route("POST", "/nodes/:id/resume", async (_call, accountId, params) =>
    moved(await fleet.move(accountId, (await own(accountId, params)).id, "resume")),
  );
  route("GET", "/models", async () => modelsForHosts(catalogue()));
  route("GET", "/nodes/:id/stats", async (_call, accountId, params) => {
    const node = await own(accountId, params);
    return nodeStats(work, node, show(node));
  });
  route("POST", "/nodes/:id/try", async (call, accountId, params) => tryNode(work, await own(accountId, params), call));
  route("GET", "/earnings", async ({ request }, accountId) =>
    earningsList(work, accountId, new URL(request.url ?? "", "http://node").searchParams),
  );
  route("GET", "/requests/:id/receipt", async (_call, accountId, params) => {
    const id = parseId("req", params.id ?? "");
    const receipt = id === undefined ? undefined : await options.receiptOfHost(accountId, id);
    if (receipt === undefined) throw fault("not_found");
    return receipt;
  });
  route("POST", "/nodes/:id/credentials", async (_call, accountId, params) =>
    credentials(options, await own(accountId, params)),
  );
}

async function credentials(options: NodeApiOptions, node: Node): Promise<object> {
  if (node.standing === "quarantined") throw fault("node_quarantined");
  if (node.standing === "retired") throw refusedMove("retired");
  if (node.models.length === 0) throw fault("no_elected_builds");
  if (options.mint === undefined) throw fault("not_implemented");
  const nodeId = publicId("node", node.id);
  const minted = await options.mint(nodeId).catch((cause) => {
    options.log.error({ node: nodeId, err: cause }, "the dispatch plane minted no credentials");
    throw fault("dispatch_admin_error", { cause });
  });
  const { active } = options.catalogue();
  return {
    plane_url: minted.url,
    jwt: minted.jwt,
    seed: minted.seed,
    expires_at: Math.floor(minted.expiresAt / 1000),
    subjects: options.subjects(nodeId),
    builds: node.models.flatMap((model) => {
      const build = active.get(model)?.build;
      return build === undefined ? [] : [{ model, build: build.id, tokenizer: build.tokenizer }];
    }),
  };
}

function refusedMove(standing: string): Error {
  if (standing === "quarantined") return fault("node_quarantined");
  return fault("node_state_conflict", { message: `The node is ${standing}, which does not allow this.` });
}

type NodeObject = { state: string } & Record<string, unknown>;

function nodeObject(node: Node, connected: boolean): NodeObject {
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
