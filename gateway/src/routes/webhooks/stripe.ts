/**
 * POST /webhooks/stripe: receives events from the payment provider. The signature covers the bytes as sent. The answer
 * is 200 only after all effects are committed; after any other answer the provider sends the event again.
 */
import type { FastifyInstance } from "fastify";
import { fault } from "../../faults.ts";
import type { PaymentServices } from "../../payments/services.ts";

const PATH = "/webhooks/stripe";
/**
 * The provider's largest events have a few dozen KiB. The limit is low because the signature is checked only after the
 * body is read.
 */
const BODY_BYTES_MAX = 256 * 1024;

/** Without payments the route behaves as if it did not exist. */
export function addWebhookRoutes(app: FastifyInstance, { payments }: Pick<PaymentServices, "payments">): void {
  if (payments === undefined) {
    app.all(PATH, async () => {
      throw fault("billing_disabled");
    });
    return;
  }
  app.post(PATH, async ({ call, headers }) => {
    const body = await call.readBytes("the payment provider", BODY_BYTES_MAX);
    await payments.receive(Buffer.from(body), headers["stripe-signature"]?.toString());
    return { received: true };
  });
}
