/**
 * POST /webhooks/stripe: the payment provider's news. The signature is over the bytes as they came. The answer is 200 only
 * once everything that follows is committed; any other answer makes the provider send the event again.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from "fastify";
import { fault, wrongMethod } from "../../faults.ts";
import type { Payments } from "../../payments/payments.ts";
import { type DoorOptions, type OpenCall, through } from "../door.ts";

const PATH = "/webhooks/stripe";
/** The provider's largest events have a few dozen KiB, and who sends them is known only when they have been read. */
const BODY_BYTES_MAX = 256 * 1024;

export interface WebhookOptions {
  door: DoorOptions;
  /** Undefined: nothing can be bought here, and the route is as good as absent. */
  payments: Payments | undefined;
}

export function webhookRoutes(app: FastifyInstance, { door, payments }: WebhookOptions): void {
  const handler =
    (handle: (call: OpenCall) => Promise<void>) => async (request: FastifyRequest, reply: FastifyReply) => {
      reply.hijack();
      await through(door, { request: request.raw, response: reply.raw }, handle);
    };
  const refuse = (make: () => Error) =>
    handler(async () => {
      throw make();
    });
  if (payments === undefined) {
    app.all(
      PATH,
      refuse(() => fault("billing_disabled")),
    );
    return;
  }
  app.post(
    PATH,
    handler(async (call) => {
      const body = await call.readBytes("the payment provider", BODY_BYTES_MAX);
      await payments.receive(Buffer.from(body), call.request.headers["stripe-signature"]?.toString());
      call.reply.json(200, JSON.stringify({ received: true }));
    }),
  );
  const others = app.supportedMethods.filter((method) => method !== "POST") as HTTPMethods[];
  app.route({ method: others, url: PATH, handler: refuse(() => wrongMethod(["POST"])) });
}
