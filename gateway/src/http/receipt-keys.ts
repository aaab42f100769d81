/** GET /.well-known/tollgate-receipts: the public keys that verify usage receipts. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { wrongMethod } from "../faults.ts";
import { etagOf, sendCached } from "./cached.ts";
import { type DoorOptions, type OpenCall, through } from "./door.ts";

const PATH = "/.well-known/tollgate-receipts";

export interface ReceiptKeyOptions {
  door: DoorOptions;
  keys: () => Promise<{ id: string; public_key: string }[]>;
}

export function receiptKeyRoutes(app: FastifyInstance, { door, keys }: ReceiptKeyOptions): void {
  const handler =
    (handle: (call: OpenCall) => Promise<void>) => async (request: FastifyRequest, reply: FastifyReply) => {
      reply.hijack();
      await through(door, { request: request.raw, response: reply.raw }, handle);
    };
  const send = handler(async (call) => {
    const body = JSON.stringify({ object: "receipt.keys", algorithm: "ed25519", keys: await keys() });
    sendCached(call, body, etagOf(body));
  });
  const refuse = handler(async () => {
    throw wrongMethod(["GET"]);
  });
  app.route({ method: "GET", url: PATH, handler: send });
  app.route({ method: app.supportedMethods.filter((method) => method !== "GET"), url: PATH, handler: refuse });
}
