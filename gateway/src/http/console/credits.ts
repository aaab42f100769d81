/**
 * Buying credits: the packs on offer, and the start of a checkout. The buyer pays on the provider's page; the credit comes
 * with the provider's webhook, whatever the browser does afterwards.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { publicId } from "../../base/ids.ts";
import { exactMicro } from "../../base/money.ts";
import { fault, invalidRequest } from "../../faults.ts";
import type { Pack } from "../../payments/packs.ts";
import type { Payments, StartedCheckout } from "../../payments/payments.ts";
import { type DoorOptions, through } from "../door.ts";
import type { ConsoleRoute, Guards } from "./guards.ts";

const PACKS_URL = "/console/api/packs";
const CHECKOUT_URL = "/console/api/credits/checkout";

export const CheckoutFields = z.object({ pack_id: z.string("must be a string") });

export interface CreditOptions {
  payments: Payments;
  /** How browsers reach the gateway, where that is known. */
  publicUrl: string | undefined;
}

export function creditRoutes(route: ConsoleRoute, guards: Guards, { payments, publicUrl }: CreditOptions): void {
  route("GET", PACKS_URL, guards.signedIn, async ({ json }) => {
    json({ object: "list", data: payments.packs.map(packObject), next_cursor: null });
  });
  route("POST", CHECKOUT_URL, guards.buyer, async ({ account, call, fields, json }) => {
    const { pack_id: packId } = await fields(CheckoutFields);
    const origin = publicUrl === undefined ? originOf(call.request.headers) : new URL(publicUrl).origin;
    const page = `${origin}/console`;
    const started = await payments.checkout({
      accountId: account.id,
      packId,
      successUrl: (reference) => `${page}?purchase=done&checkout=${reference}`,
      cancelUrl: (reference) => `${page}?purchase=cancelled&checkout=${reference}`,
    });
    json(checkoutObject(started));
  });
}

/** Where nothing can be bought the routes are as good as absent: one answer to everybody, whatever the method. */
export function noCreditRoutes(app: FastifyInstance, door: DoorOptions): void {
  for (const url of [PACKS_URL, CHECKOUT_URL]) {
    app.all(url, async (request, reply) => {
      reply.hijack();
      await through(door, { request: request.raw, response: reply.raw }, async () => {
        throw fault("billing_disabled");
      });
    });
  }
}

/**
 * The address that the browser called us by, where no configuration says it. Only its own page could be at another origin,
 * and the request would have been refused as cross-site.
 */
export function originOf({ origin, host }: IncomingHttpHeaders): string {
  const from = URL.parse(origin ?? "");
  const called = URL.parse(`http://${host ?? ""}`);
  // Nothing but a name and a port: no path, no user.
  if (called === null || called.href !== `${called.origin}/`) {
    throw invalidRequest("host", "host must name the console's address.");
  }
  const sameHost = from !== null && URL.parse(`${from.protocol}//${host}`)?.host === from.host;
  return sameHost && /^https?:$/.test(from.protocol) ? from.origin : called.origin;
}

function packObject({ id, name, price }: Pack): object {
  const micro = exactMicro(price);
  return { id, object: "pack", name, currency: "usd", price_micro: micro, credit_micro: micro };
}

function checkoutObject({ id, url, pack }: StartedCheckout): object {
  return {
    object: "checkout",
    id: publicId("pay", id),
    url,
    pack_id: pack.id,
    amount_micro: exactMicro(pack.price),
  };
}
