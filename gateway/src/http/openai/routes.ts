/** The public API: five endpoints, and honest answers for the paths that clients try and that do not exist. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { fault, notFound, wrongMethod } from "../../faults.ts";
import type { Endpoint } from "../../inference/endpoint.ts";
import { checkLength, enterKey, type Visitor } from "../../inference/gate.ts";
import type { Gateway } from "../../inference/gateway.ts";
import { serve } from "../../inference/serve.ts";
import { etagOf, sendCached } from "../cached.ts";
import { type DoorOptions, type OpenCall, through } from "../door.ts";
import { modelList, rateSheet } from "./catalogue.ts";
import { chat } from "./chat.ts";
import { completions } from "./completions.ts";
import { embeddingsEndpoint } from "./embeddings.ts";

export interface OpenAiOptions {
  door: DoorOptions;
  gateway: Gateway;
  /** EMBEDDINGS_BASE64_COMPAT. */
  base64Compat: boolean;
}

type Handle = (call: OpenCall) => Promise<void>;

/** Prefixes of an alternate dialect that is not implemented. */
const RESERVED = ["/anthropic", "/anthropic/*", "/v1/messages", "/v1/messages/*"];

export function openAiRoutes(app: FastifyInstance, options: OpenAiOptions): void {
  const { door, gateway, base64Compat } = options;
  const posts: [string, Endpoint][] = [
    ["/v1/chat/completions", chat],
    ["/v1/completions", completions],
    ["/v1/embeddings", embeddingsEndpoint({ base64Compat })],
  ];
  const handler = (handle: Handle) => async (request: FastifyRequest, reply: FastifyReply) => {
    reply.hijack();
    await through(door, { request: request.raw, response: reply.raw }, handle);
  };
  const refuse = (make: () => Error) =>
    handler(async () => {
      throw make();
    });
  /** One path, one method; every other method is told which. */
  const route = (path: string, method: "GET" | "POST", handle: Handle): void => {
    app.route({ method, url: path, handler: handler(handle) });
    const others = app.supportedMethods.filter((other) => other !== method);
    app.route({ method: others, url: path, handler: refuse(() => wrongMethod([method])) });
  };

  for (const [path, endpoint] of posts) route(path, "POST", (call) => serve(gateway, endpoint, call));

  route("/v1/models", "GET", async (call) => {
    const key = await gateway.keys.authenticate(call.authorization);
    if (key === undefined) throw fault("invalid_api_key");
    const visitor: Visitor = { call, key, endpoint: "models" };
    await checkLength(gateway, visitor);
    const pass = await enterKey(gateway, visitor);
    await pass.leave(0);
    const list = modelList(gateway.catalogue().entries, (model) => gateway.dispatcher.speedOf(model));
    call.reply.json(200, list);
  });

  route("/v1/catalog/rates", "GET", async (call) => {
    call.checkDeclaredLength();
    const sheet = rateSheet(gateway.catalogue().entries);
    sendCached(call, sheet, etagOf(sheet));
  });

  const unknown = (text: string) => refuse(() => notFound(text));
  for (const path of RESERVED) app.all(path, unknown("This dialect is not implemented. Use /v1/chat/completions."));
  for (const path of ["/v1/responses", "/v1/responses/*"]) {
    app.all(path, unknown("This endpoint does not exist here. Use POST /v1/chat/completions instead."));
  }
  app.setNotFoundHandler(
    unknown("No such path. The API is under /v1: chat/completions, completions, embeddings, models, catalog/rates."),
  );
}
