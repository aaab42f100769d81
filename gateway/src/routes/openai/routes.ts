/** The public API: the three generation endpoints, and the model catalogue. */
import { publicRoutes } from "@tollgate/api/public/routes.ts";
import { type Route, splitMethodAndUrl } from "@tollgate/api/route-declaration.ts";
import type { FastifyInstance } from "fastify";
import { fault, modelNotFound } from "../../faults.ts";
import type { OpenCall } from "../../http/http-call.ts";
import { streamResponse } from "../../http/run-handlers.ts";
import { sendCachedResponse } from "../../http/send-cached-response.ts";
import { checkDeclaredBodyLength, countAgainstKeyLimit } from "../../inference/check-limits.ts";
import type { Endpoint } from "../../inference/endpoint.ts";
import { countRefusedCall, type RefusedCaller } from "../../inference/refused-calls.ts";
import type { RequestPathDependencies } from "../../inference/request-path-dependencies.ts";
import { serveRequest } from "../../inference/serve.ts";
import type { InferenceServices } from "../../inference/services.ts";
import type { KeyHolder } from "../../keys/secret-store.ts";
import { modelObject, renderModelList, renderRateSheet } from "./catalogue.ts";
import { chat } from "./chat.ts";
import { completions } from "./completions.ts";
import { embeddingsEndpoint } from "./embeddings.ts";

export function openAiRoutes(
  app: FastifyInstance,
  { gateway, base64Compat }: Pick<InferenceServices, "gateway" | "base64Compat">,
): void {
  const endpoints: [Route, Endpoint][] = [
    [publicRoutes.createChatCompletion, chat],
    [publicRoutes.createCompletion, completions],
    [publicRoutes.createEmbedding, embeddingsEndpoint({ base64Compat })],
  ];
  for (const [route, endpoint] of endpoints) {
    const { method, url } = splitMethodAndUrl(route);
    const handle = (call: OpenCall): Promise<void> => serveRequest(gateway, endpoint, call);
    app.direct.set(url, handle);
    app.route({ method, url, handler: (request, reply) => streamResponse(request, reply, handle) });
  }

  const seenBy = ({ models }: KeyHolder): Parameters<typeof modelObject>[1] => ({
    speedOf: (id) => gateway.dispatcher.speedOf(id),
    keepsFormat: (id) => gateway.dispatcher.keepsFormat(id),
    allowed: models,
  });

  app.route({
    ...splitMethodAndUrl(publicRoutes.listModels),
    async handler({ call }, reply) {
      const key = await countAsRequest(gateway, call);
      return reply.type(JSON_TYPE).send(renderModelList(gateway.catalogue().entries, seenBy(key)));
    },
  });

  app.route<{ Params: { id: string } }>({
    ...splitMethodAndUrl(publicRoutes.retrieveModel),
    async handler({ call, params }, reply) {
      const key = await countAsRequest(gateway, call);
      const entry = gateway.catalogue().entries.find(({ id }) => id === params.id);
      if (entry === undefined)
        throw refusal(gateway, { authorization: call.authorization, key }, modelNotFound(params.id));
      return reply.type(JSON_TYPE).send(JSON.stringify(modelObject(entry, seenBy(key))));
    },
  });

  app.route({
    ...splitMethodAndUrl(publicRoutes.listRates),
    async handler(request, reply) {
      request.call.checkDeclaredLength();
      return sendCachedResponse(request, reply, { body: renderRateSheet(gateway.catalogue().entries) });
    },
  });
}

const JSON_TYPE = "application/json; charset=utf-8";

/**
 * Counts a catalogue query against the key's limit per minute. The query holds one of the key's concurrent requests
 * only while it runs.
 */
async function countAsRequest(gateway: RequestPathDependencies, call: OpenCall): Promise<KeyHolder> {
  const { authorization } = call;
  const key = await gateway.keys.authenticate(authorization);
  if (key === undefined) throw refusal(gateway, { authorization }, fault("invalid_api_key"));
  const caller = { call, key, endpoint: "models" as const };
  try {
    await checkDeclaredBodyLength(gateway, caller);
    const pass = await countAgainstKeyLimit(gateway, caller);
    await pass.leave(0);
  } catch (error) {
    throw refusal(gateway, { authorization, key }, error);
  }
  return key;
}

/** Records the refused call for the key's owner, and returns the error. */
function refusal<Refusal>(gateway: RequestPathDependencies, asker: RefusedCaller, error: Refusal): Refusal {
  countRefusedCall(gateway, asker, error);
  return error;
}
