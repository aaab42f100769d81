/** GET /.well-known/tollgate-receipts: the public keys that verify usage receipts. */
import type { FastifyInstance } from "fastify";
import { type DoorOptions, through } from "./door.ts";

export interface ReceiptKeyOptions {
  door: DoorOptions;
  keys: () => Promise<{ id: string; public_key: string }[]>;
}

export function receiptKeyRoutes(app: FastifyInstance, { door, keys }: ReceiptKeyOptions): void {
  app.get("/.well-known/tollgate-receipts", async (request, reply) => {
    reply.hijack();
    await through(door, { request: request.raw, response: reply.raw }, async (call) => {
      const body = { object: "receipt.keys", algorithm: "ed25519", keys: await keys() };
      call.reply.json(200, JSON.stringify(body), { "cache-control": "public, max-age=300" });
    });
  });
}
