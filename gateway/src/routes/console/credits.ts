/**
 * Buying credit: lists the packs, and starts a checkout for a pack or an amount. The buyer pays on the payment
 * provider's page. The provider's webhook then credits the account, even if the buyer closes the browser.
 */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { creditRoutes } from "@tollgate/api/console/balance-and-usage.ts";
import { paymentRoutes } from "@tollgate/api/console/credits.ts";
import { splitMethodAndUrl } from "@tollgate/api/route-declaration.ts";
import type { FastifyInstance } from "fastify";
import { publicId } from "../../base/ids.ts";
import { formatExactMicrodollars } from "../../base/money.ts";
import { fault, invalidRequest } from "../../faults.ts";
import { singlePage } from "../../http/lists/list-pages.ts";
import { detectScheme, type Scheme } from "../../http/request-scheme.ts";
import type { Handlers } from "../../http/serve-routes.ts";
import type { CreditPack } from "../../payments/credit-packs.ts";
import type { Payments } from "../../payments/payments.ts";
import { parseValidatedMicro } from "./statement.ts";

export function creditHandlers({
  payments,
  publicUrl,
}: {
  payments: Payments;
  publicUrl: string | undefined;
}): Handlers<typeof creditRoutes> {
  return {
    listPacks: async () => singlePage(payments.packs.map(packObject)),

    async createCheckout({ account, call, body }) {
      const page = consoleReturnUrl(publicUrl, call.request);
      const { pack_id: packId = "", amount_micro } = body();
      const { id, url, pack, price } = await payments.checkout({
        accountId: account.id,
        what: amount_micro === undefined ? { packId } : { amount: parseValidatedMicro(amount_micro) },
        successUrl: (reference) => `${page}?purchase=done&checkout=${reference}`,
        cancelUrl: (reference) => `${page}?purchase=cancelled&checkout=${reference}`,
      });
      return {
        object: "checkout",
        id: publicId("pay", id),
        url,
        pack_id: pack,
        amount_micro: formatExactMicrodollars(price),
      };
    },
  };
}

/** If payments are off, registers answers of 404 billing_disabled for every payment route and method. */
export function registerDisabledPaymentRoutes(app: FastifyInstance): void {
  const all = [...Object.values(creditRoutes), ...Object.values(paymentRoutes)];
  for (const url of new Set(all.map((route) => splitMethodAndUrl(route).url))) {
    app.all(url, async () => {
      throw fault("billing_disabled");
    });
  }
}

/** The page of the console to which the payment provider sends the buyer back. */
export const consoleReturnUrl = (publicUrl: string | undefined, request: IncomingMessage): string =>
  `${publicUrl === undefined ? findConsoleOrigin(request.headers, detectScheme(request)) : new URL(publicUrl).origin}/console`;

/**
 * The console's address according to the browser's request, used if none is configured. It cannot be another origin:
 * cross-site requests are refused before.
 */
export function findConsoleOrigin({ origin, host }: IncomingHttpHeaders, scheme: Scheme = "http"): string {
  const from = URL.parse(origin ?? "");
  const called = URL.parse(`${scheme}://${host ?? ""}`);
  // The Host header must contain only a host and a port: no path and no user.
  if (called === null || called.href !== `${called.origin}/`) {
    throw invalidRequest("host", "The Host header must be the console's address.");
  }
  const sameHost = from !== null && URL.parse(`${from.protocol}//${host}`)?.host === from.host;
  return sameHost && /^https?:$/.test(from.protocol) ? from.origin : called.origin;
}

function packObject({ id, name, price }: CreditPack) {
  const micro = formatExactMicrodollars(price);
  return {
    id,
    object: "pack" as const,
    name,
    currency: "usd" as const,
    price_micro: micro,
    credit_micro: micro,
  };
}
