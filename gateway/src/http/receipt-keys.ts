/** GET /.well-known/tollgate-receipts: the public keys that verify usage receipts. */
import type { FastifyInstance } from "fastify";
import { etagOf, sendCached } from "./cached.ts";
import { type DoorOptions, through } from "./door.ts";

export interface ReceiptKeyOptions {
  door: DoorOptions;
  keys: () => Promise<{ id: string; public_key: string }[]>;
}

export function receiptKeyRoutes(app: FastifyInstance, { door, keys }: ReceiptKeyOptions): void {
  app.get("/.well-known/tollgate-receipts", async (request, reply) => {
    reply.hijack();
    await through(door, { request: request.raw, response: reply.raw }, async (call) => {
      const body = JSON.stringify({ object: "receipt.keys", algorithm: "ed25519", keys: await keys() });
      sendCached(call, body, etagOf(body));
    });
  });
}
