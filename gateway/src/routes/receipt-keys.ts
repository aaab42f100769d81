/** GET /.well-known/tollgate-receipts: the public keys that verify usage receipts. */
import { publicRoutes } from "@tollgate/api/public/routes.ts";
import { type ResponseJsonOf, splitMethodAndUrl } from "@tollgate/api/route-declaration.ts";
import type { FastifyInstance } from "fastify";
import type { HistoryServices } from "../history/services.ts";
import { sendCachedResponse } from "../http/send-cached-response.ts";

const route = publicRoutes.listReceiptKeys;

export function receiptKeyRoutes(app: FastifyInstance, { receipts }: Pick<HistoryServices, "receipts">): void {
  app.route({
    ...splitMethodAndUrl(route),
    async handler(request, reply) {
      const keys: ResponseJsonOf<typeof route> = {
        object: "receipt.keys",
        algorithm: "ed25519",
        keys: await receipts.keys(),
      };
      return sendCachedResponse(request, reply, { body: JSON.stringify(keys) });
    },
  });
}
