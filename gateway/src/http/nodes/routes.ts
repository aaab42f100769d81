/** The node API: what a host's agent and CLI speak to. Every route acts for the account of a host token. */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from "fastify";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import type { Log } from "../../base/log.ts";
import { type SparingLog, sparingLog } from "../../base/sparing-log.ts";
import type { NodeCredentials } from "../../dispatch/plane.ts";
import { fault, notFound, wrongMethod } from "../../faults.ts";
import type { Node } from "../../fleet/fleet.ts";
import type { Secrets } from "../../keys/keys.ts";
import type { Catalogue } from "../../metering/catalogue.ts";
import { type DoorOptions, type OpenCall, through } from "../door.ts";
import { type NodeDesk, refusedMove } from "./desk.ts";
import { earningsList, modelsForHosts, type NodeWork, tryNode } from "./work.ts";

export interface NodeApiOptions {
  door: DoorOptions;
  log: Log;
  hostTokens: Secrets;
  desk: NodeDesk;
  catalogue: () => Catalogue;
  /** Undefined: the platform has no dispatch plane. */
  mint: ((nodeId: string) => Promise<NodeCredentials>) | undefined;
  /** The node's subjects on the plane, by its public id. */
  subjects: (nodeId: string) => { publish: string[]; subscribe: string[] };
  work: NodeWork;
  receiptOfHost: (hostAccountId: Uuid, requestId: Uuid) => Promise<object | undefined>;
}

type Handle = (call: OpenCall, accountId: Uuid, params: Record<string, string>) => Promise<object>;

export function nodeRoutes(app: FastifyInstance, options: NodeApiOptions): void {
  const { hostTokens, desk, catalogue, work } = options;
  const log = sparingLog(options.log, options.door.clock);
  const { door } = options;
  const handler =
    (answer: (call: OpenCall, params: Record<string, string>) => Promise<object>) =>
    async (request: FastifyRequest, reply: FastifyReply) => {
      reply.hijack();
      await through(door, { request: request.raw, response: reply.raw }, async (call) => {
        call.reply.json(200, JSON.stringify(await answer(call, request.params as Record<string, string>)));
      });
    };
  const refuse = (make: () => Error) =>
    handler(async () => {
      throw make();
    });
  const methods = new Map<string, string[]>();
  const route = (method: "GET" | "POST" | "PUT", path: string, handle: Handle): void => {
    const url = `/node/v1${path}`;
    methods.set(url, [...(methods.get(url) ?? []), method]);
    const authenticated = handler(async (call, params) => {
      const holder = await hostTokens.authenticate(call.authorization);
      if (holder === undefined) throw fault("invalid_host_token");
      return await handle(call, holder.accountId, params);
    });
    app.route({ method, url, handler: authenticated });
  };

  route("POST", "/nodes", async (call, account) => desk.register(account, await call.readForm(account)));
  route("GET", "/nodes", ({ request }, account) => desk.list(account, queryOf(request.url)));
  route("GET", "/nodes/:id", async (_call, account, { id }) => desk.show(await desk.own(account, id)));
  route("PUT", "/nodes/:id/elections", async (call, account, { id }) => {
    // Whose node it is comes first: a wrong body must not tell that a node exists.
    await desk.own(account, id);
    return desk.elect(account, id, await call.readForm(account));
  });
  route("POST", "/nodes/:id/pause", (_call, account, { id }) => desk.move(account, id, "pause"));
  route("POST", "/nodes/:id/resume", (_call, account, { id }) => desk.move(account, id, "resume"));
  route("GET", "/nodes/:id/stats", (_call, account, { id }) => desk.stats(account, id));
  route("POST", "/nodes/:id/try", async (call, account, { id }) => tryNode(work, await desk.own(account, id), call));
  route("POST", "/nodes/:id/credentials", async (_call, account, { id }) =>
    credentials(options, await desk.own(account, id), log),
  );
  route("GET", "/models", async () => modelsForHosts(catalogue()));
  route("GET", "/earnings", ({ request }, account) => earningsList(work, account, queryOf(request.url)));
  route("GET", "/requests/:id/receipt", async (_call, account, params) => {
    const id = parseId("req", params.id ?? "");
    const receipt = id === undefined ? undefined : await options.receiptOfHost(account, id);
    if (receipt === undefined) throw fault("not_found");
    return receipt;
  });

  for (const [url, allowed] of methods) {
    const others = app.supportedMethods.filter((method) => !allowed.includes(method)) as HTTPMethods[];
    app.route({ method: others, url, handler: refuse(() => wrongMethod(allowed)) });
  }
  const unknown = refuse(() => notFound("No such path under /node/v1."));
  app.all("/node/v1", unknown);
  app.all("/node/v1/*", unknown);
}

const queryOf = (url = ""): URLSearchParams => new URL(url, "http://node").searchParams;

async function credentials(options: NodeApiOptions, node: Node, log: SparingLog): Promise<object> {
  if (node.standing === "quarantined") throw fault("node_quarantined");
  if (node.standing === "retired") throw refusedMove("retired");
  if (node.models.length === 0) throw fault("no_elected_builds");
  if (options.mint === undefined) throw fault("not_implemented");
  const nodeId = publicId("node", node.id);
  const minted = await options.mint(nodeId).catch((cause) => {
    log.error(nodeId, { node: nodeId, err: cause }, "the dispatch plane minted no credentials");
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
