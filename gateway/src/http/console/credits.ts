/**
 * Buying credits: the packs on offer, and the start of a checkout. The buyer pays on the provider's page; the credit comes
 * with the provider's webhook, whatever the browser does afterwards.
 */
import type { IncomingHttpHeaders } from "node:http";
import { creditRoutes } from "@tollgate/api/console/money.ts";
import { methodAndUrl } from "@tollgate/api/route.ts";
import type { FastifyInstance } from "fastify";
import { publicId } from "../../base/ids.ts";
import { exactMicro } from "../../base/money.ts";
import { fault, invalidRequest } from "../../faults.ts";
import type { Pack } from "../../payments/packs.ts";
import type { Payments } from "../../payments/payments.ts";
import { whole } from "../lists/pages.ts";
import type { Handlers } from "../routes.ts";

export function creditHandlers({
  payments,
  publicUrl,
}: {
  payments: Payments;
  publicUrl: string | undefined;
}): Handlers<typeof creditRoutes> {
  return {
    listPacks: async () => whole(payments.packs.map(packObject)),

    async createCheckout({ account, call, body }) {
      const origin = publicUrl === undefined ? originOf(call.request.headers) : new URL(publicUrl).origin;
      const page = `${origin}/console`;
      const { id, url, pack } = await payments.checkout({
        accountId: account.id,
        packId: body().pack_id,
        successUrl: (reference) => `${page}?purchase=done&checkout=${reference}`,
        cancelUrl: (reference) => `${page}?purchase=cancelled&checkout=${reference}`,
      });
      return {
        object: "checkout",
        id: publicId("pay", id),
        url,
        pack_id: pack.id,
        amount_micro: exactMicro(pack.price),
      };
    },
  };
}

/** Where nothing can be bought the routes are as good as absent: one answer to everybody, whatever the method. */
export function noCredits(app: FastifyInstance): void {
  for (const route of Object.values(creditRoutes)) {
    app.all(methodAndUrl(route).url, async () => {
      throw fault("billing_disabled");
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

function packObject({ id, name, price }: Pack) {
  const micro = exactMicro(price);
  return {
    id,
    object: "pack" as const,
    name,
    currency: "usd" as const,
    price_micro: micro,
    credit_micro: micro,
  };
}
