/** GET /.well-known/tollgate-receipts: the public keys that verify usage receipts. */
import type { FastifyInstance } from "fastify";
import { sendCached } from "./cached.ts";
import type { Parts } from "./parts.ts";

export function receiptKeyRoutes(app: FastifyInstance, { receipts }: Pick<Parts, "receipts">): void {
  app.get("/.well-known/tollgate-receipts", async (request, reply) => {
    const keys = { object: "receipt.keys", algorithm: "ed25519", keys: await receipts.keys() };
    return sendCached(request, reply, { body: JSON.stringify(keys) });
  });
}
