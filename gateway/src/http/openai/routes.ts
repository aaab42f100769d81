/** The public API: three endpoints that generate, and the catalogue. */
import { publicRoutes } from "@tollgate/api/public/routes.ts";
import { methodAndUrl, type Route } from "@tollgate/api/route.ts";
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
  const endpoints: [Route, Endpoint][] = [
    [publicRoutes.createChatCompletion, chat],
    [publicRoutes.createCompletion, completions],
    [publicRoutes.createEmbedding, embeddingsEndpoint({ base64Compat })],
  ];
  for (const [route, endpoint] of endpoints) {
    app.route({
      ...methodAndUrl(route),
      handler: (request, reply) => takeOver(request, reply, (call) => serve(gateway, endpoint, call)),
    });
  }

  app.route({
    ...methodAndUrl(publicRoutes.listModels),
    async handler({ call }, reply) {
      const key = await gateway.keys.authenticate(call.authorization);
      if (key === undefined) throw fault("invalid_api_key");
      const caller = { call, key, endpoint: "models" as const };
      await checkLength(gateway, caller);
      const pass = await enterKey(gateway, caller);
      await pass.leave(0);
      const list = modelList(gateway.catalogue().entries, gateway.dispatcher);
      return reply.type("application/json; charset=utf-8").send(list);
    },
  });

  app.route({
    ...methodAndUrl(publicRoutes.listRates),
    async handler(request, reply) {
      request.call.checkDeclaredLength();
      return sendCached(request, reply, { body: rateSheet(gateway.catalogue().entries) });
    },
  });
}
