/**
 * The HTTP routes of the demo payment provider: the API that Stripe's library calls, checkout pages for the buyer, and a
 * page on which the operator simulates refunds and disputes.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import {
  renderCardSetupPage,
  renderCheckoutPage,
  renderMessagePage,
  renderOperatorPage,
  renderReceiptPage,
} from "./payment-pages.ts";
import type { ProviderApi } from "./payment-provider-api.ts";
import { type RefundOrDispute, type SaleRecord, TEST_CARDS, type TestCardLast4 } from "./sale-record.ts";
import { ActionRefused, type ProviderSales } from "./sales-and-events.ts";
import type { WebhookDeliveries } from "./webhook-delivery.ts";

interface DemoRoutesOptions {
  api: ProviderApi;
  shop: ProviderSales;
  deliveries: WebhookDeliveries;
  /** Called when a sale or a webhook was added or changed. */
  changed: () => void;
}

type Params = Record<string, string>;
type Step = (sale: SaleRecord, request: { body: string; id: string }) => void;

/** The content security policy: pages load nothing and run no scripts. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

export function addDemoRoutes(app: FastifyInstance, { api, shop, deliveries, changed }: DemoRoutesOptions): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => done(null, body));
  app.setErrorHandler((error: Error, _request, reply) => {
    const refused = error instanceof ActionRefused;
    return show(reply, renderMessagePage("This is not possible", error.message), refused ? 409 : 500);
  });
  app.setNotFoundHandler((_request, reply) =>
    show(reply, renderMessagePage("Not found", "There is no such page."), 404),
  );

  app.all("/v1/*", (request, reply) => {
    const key = request.headers["idempotency-key"];
    const answer = api.answer({
      what: `${request.method} ${request.url.split("?")[0]}`,
      authorization: request.headers.authorization,
      idempotencyKey: key?.toString(),
      body: text(request),
    });
    changed();
    return reply.status(answer.status).send(answer.body);
  });

  const saleOf = (request: FastifyRequest): SaleRecord => {
    const sale = shop.find((request.params as Params).session ?? "");
    if (sale === undefined) throw new ActionRefused("There is no such checkout.");
    return sale;
  };
  const step = (url: string, take: Step, then: (sale: SaleRecord) => string): void => {
    app.post(url, (request, reply) => {
      refuseOtherSites(request);
      const sale = saleOf(request);
      take(sale, { body: text(request), id: (request.params as Params).id ?? "" });
      changed();
      return reply.redirect(then(sale), 303);
    });
  };

  app.get("/pay/:session", (request, reply) => {
    const sale = saleOf(request);
    return show(reply, sale.mode === "setup" ? renderCardSetupPage(sale) : renderCheckoutPage(sale));
  });
  for (const last4 of Object.keys(TEST_CARDS) as TestCardLast4[]) {
    step(`/pay/:session/save/${last4}`, (sale) => void shop.save(sale, last4), returnUrl);
  }
  for (const what of ["receipt", "invoice"] as const) {
    app.get(`/${what}s/:session`, (request, reply) => show(reply, renderReceiptPage(saleOf(request), what)));
  }
  step("/pay/:session/now", (sale) => shop.pay(sale), returnUrl);
  step("/pay/:session/later", (sale) => shop.payLater(sale), returnUrl);

  app.get("/", (_request, reply) => show(reply, renderOperatorPage(shop.sales, deliveries.all)));
  const operator = (name: string, take: Step): void => step(`/sales/:session/${name}`, take, () => "/");
  operator("expire", (sale) => shop.expire(sale));
  operator("arrive", (sale) => shop.arrive(sale));
  operator("fail", (sale) => shop.fail(sale));
  operator("refund", (sale, { body }) => shop.refund(sale, Number(new URLSearchParams(body).get("cents"))));
  operator("fail-refund/:id", (sale, { id }) => shop.failRefund(sale, reversal(sale.refunds, id)));
  operator("dispute", (sale) => shop.dispute(sale));
  operator("win/:id", (sale, { id }) => shop.closeDispute(sale, reversal(sale.disputes, id), "won"));
  operator("lose/:id", (sale, { id }) => shop.closeDispute(sale, reversal(sale.disputes, id), "lost"));
  app.post("/events/:id/again", (request, reply) => {
    refuseOtherSites(request);
    const delivery = deliveries.all.find(({ event }) => event.id === (request.params as Params).id);
    if (delivery === undefined) throw new ActionRefused("There is no such event.");
    deliveries.again(delivery);
    return reply.redirect("/", 303);
  });
}

/** Refuses requests from other sites. A page there could submit a form here, even though it cannot read the answer. */
function refuseOtherSites({ headers }: FastifyRequest): void {
  const site = headers["sec-fetch-site"] ?? "same-origin";
  if (site !== "same-origin" && site !== "none") throw new ActionRefused("This came from another site.");
}

/** Like the real provider, replaces this placeholder in the return URL with the session's ID. */
const returnUrl = ({ successUrl, session }: SaleRecord): string =>
  successUrl.replaceAll("{CHECKOUT_SESSION_ID}", session);

function reversal(all: RefundOrDispute[], id: string): RefundOrDispute {
  const found = all.find((one) => one.id === id);
  if (found === undefined) throw new ActionRefused("There is no such refund or dispute.");
  return found;
}

const text = ({ body }: FastifyRequest): string => (typeof body === "string" ? body : "");

function show(reply: FastifyReply, body: string, status = 200): FastifyReply {
  return reply
    .status(status)
    .headers({
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": POLICY,
      "cache-control": "no-store",
    })
    .send(body);
}
