/** The public API: three endpoints that generate, and the catalogue. */
import type { FastifyInstance } from "fastify";
import { fault } from "../../faults.ts";
import type { Endpoint } from "../../inference/endpoint.ts";
import { checkLength, enterKey } from "../../inference/gate.ts";
import { serve } from "../../inference/serve.ts";
import { sendCached } from "../cached.ts";
import { takeOver } from "../door.ts";
import type { Parts } from "../parts.ts";
import { modelList, rateSheet } from "./catalogue.ts";
import { chat } from "./chat.ts";
import { completions } from "./completions.ts";
import { embeddingsEndpoint } from "./embeddings.ts";

export function openAiRoutes(
  app: FastifyInstance,
  { gateway, base64Compat }: Pick<Parts, "gateway" | "base64Compat">,
): void {
  const endpoints: [string, Endpoint][] = [
    ["/v1/chat/completions", chat],
    ["/v1/completions", completions],
    ["/v1/embeddings", embeddingsEndpoint({ base64Compat })],
  ];
  for (const [url, endpoint] of endpoints) {
    app.post(url, (request, reply) => takeOver(request, reply, (call) => serve(gateway, endpoint, call)));
  }

  app.get("/v1/models", async ({ call }, reply) => {
    const key = await gateway.keys.authenticate(call.authorization);
    if (key === undefined) throw fault("invalid_api_key");
    const caller = { call, key, endpoint: "models" as const };
    await checkLength(gateway, caller);
    const pass = await enterKey(gateway, caller);
    await pass.leave(0);
    const list = modelList(gateway.catalogue().entries, (model) => gateway.dispatcher.speedOf(model));
    return reply.type("application/json; charset=utf-8").send(list);
  });

  app.get("/v1/catalog/rates", async (request, reply) => {
    request.call.checkDeclaredLength();
    return sendCached(request, reply, { body: rateSheet(gateway.catalogue().entries) });
  });
}
