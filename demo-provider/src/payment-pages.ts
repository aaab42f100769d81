/** The HTML pages: the buyer's payment page and receipt, and the operator's page at the root. */

import { formatDollars, type Html, html, renderPage } from "./html-template.ts";
import {
  computeRefundableCents,
  computeRefundedCents,
  type SaleRecord,
  TEST_CARDS,
  type TestCardLast4,
} from "./sale-record.ts";
import type { WebhookDelivery } from "./webhook-delivery.ts";

const STATES: Record<SaleRecord["state"], string> = {
  open: "not paid yet",
  pending: "promised: the money is on its way",
  paid: "paid",
  failed: "the promised money did not come",
  expired: "expired",
  saved: "a card was saved",
};

export function renderCardSetupPage(sale: SaleRecord): string {
  const at = `/pay/${sale.session}`;
  const cards = Object.keys(TEST_CARDS) as TestCardLast4[];
  const choices = html`${cards.map(
    (last4) => html`<p>${button(`${at}/save/${last4}`, `Save Visa ${last4}`)} It ${TEST_CARDS[last4]}.</p>`,
  )}
    ${sale.cancelUrl === null ? [] : html`<p><a href="${sale.cancelUrl}">Cancel and go back</a></p>`}`;
  const over = html`<p>This page is over: ${STATES[sale.state]}.</p>
    <p><a href="${sale.successUrl}">Back to the shop</a></p>`;
  return renderPage(
    "Save a card",
    html`<div class="card"><h1>Save a card</h1>${sale.state === "open" ? choices : over}</div>`,
  );
}

export function renderReceiptPage(sale: SaleRecord, what: "receipt" | "invoice"): string {
  const title = `${what === "receipt" ? "Receipt" : "Invoice"} ${sale.reference ?? sale.session}`;
  return renderPage(
    title,
    html`<div class="card"><h1>${title}</h1><p>${sale.product}</p><p class="price">${formatDollars(sale.cents)}</p>
      <p>${STATES[sale.state]}${computeRefundedCents(sale) > 0 ? `, ${formatDollars(computeRefundedCents(sale))} refunded` : ""}</p></div>`,
  );
}

export function renderCheckoutPage(sale: SaleRecord): string {
  const at = `/pay/${sale.session}`;
  const choices = html`
    ${button(`${at}/now`, "Pay")}
    ${button(`${at}/later`, "Pay later by bank transfer")}
    ${sale.cancelUrl === null ? [] : html`<p><a href="${sale.cancelUrl}">Cancel and go back</a></p>`}`;
  const over = html`<p>This checkout is over: ${STATES[sale.state]}.</p>
    <p><a href="${sale.successUrl}">Back to the shop</a></p>`;
  return renderPage(
    `Pay ${formatDollars(sale.cents)}`,
    html`<div class="card"><h1>${sale.product}</h1><p class="price">${formatDollars(sale.cents)}</p>
      ${sale.state === "open" ? choices : over}</div>`,
  );
}

export function renderMessagePage(title: string, text: string): string {
  return renderPage(
    title,
    html`<div class="card"><h1>${title}</h1><p>${text}</p><p><a href="/">All payments</a></p></div>`,
  );
}

export function renderOperatorPage(sales: SaleRecord[], deliveries: WebhookDelivery[]): string {
  return renderPage(
    "Payments of the demonstration",
    html`<h1>Payments</h1>
      <p>What a payment provider's dashboard does: let a promised payment arrive or fail, refund, dispute. Each step sends
      signed webhooks to the gateway. <a href="/">Reload</a></p>
      <div class="wide" role="region" aria-label="Checkouts" tabindex="0"><table><caption>Checkouts</caption>
      <thead><tr>${["Checkout", "What", "Price", "State", "Steps"].map(heading)}</tr></thead>
      <tbody>${sales.length === 0 ? empty("Nothing was bought yet.") : sales.toReversed().map(saleRow)}</tbody></table></div>
      <div class="wide" role="region" aria-label="Webhooks" tabindex="0"><table><caption>Webhooks</caption>
      <thead><tr>${["Event", "Type", "Attempts", "Last answer", "Steps"].map(heading)}</tr></thead>
      <tbody>${deliveries.length === 0 ? empty("None was sent yet.") : deliveries.toReversed().map(deliveryRow)}</tbody>
      </table></div>`,
  );
}

function saleRow(sale: SaleRecord): Html {
  const at = `/sales/${sale.session}`;
  const steps = {
    open: () => html`<a href="/pay/${sale.session}">Open its page</a> ${button(`${at}/expire`, "Let it expire")}`,
    pending: () => html`${button(`${at}/arrive`, "The money arrives")} ${button(`${at}/fail`, "It does not come")}`,
    paid: () => paidSteps(sale, at),
    failed: () => html`–`,
    expired: () => html`–`,
    saved: () => html`–`,
  };
  const back = computeRefundedCents(sale) > 0 ? `, ${formatDollars(computeRefundedCents(sale))} refunded` : "";
  const disputed = sale.disputes.map(({ status }) => `, dispute ${status.replace("_", " ")}`).join("");
  return html`<tr><th scope="row"><code>${sale.reference ?? sale.session}</code></th><td>${sale.product}</td>
    <td>${sale.mode === "setup" ? "–" : formatDollars(sale.cents)}</td><td>${STATES[sale.state]}${back}${disputed}</td><td>${steps[sale.state]()}</td></tr>`;
}

function paidSteps(sale: SaleRecord, at: string): Html {
  const left = computeRefundableCents(sale);
  const field = `refund-${sale.session}`;
  const refund = html`<form method="post" action="${at}/refund"><label for="${field}">Cents</label>
    <input id="${field}" name="cents" type="number" min="1" max="${left}" value="${left}" required>
    <button>Refund</button></form>`;
  const returns = sale.refunds
    .filter(({ status }) => status === "succeeded")
    .map(({ id, cents }) => button(`${at}/fail-refund/${id}`, `The refund of ${formatDollars(cents)} bounces`));
  const open = sale.disputes.filter(({ status }) => status === "needs_response");
  const closes = open.map(
    ({ id }) => html`${button(`${at}/win/${id}`, "We win the dispute")} ${button(`${at}/lose/${id}`, "We lose it")}`,
  );
  return html`${left > 0 ? refund : []} ${returns}
    ${sale.disputes.length === 0 ? button(`${at}/dispute`, "Dispute it") : []} ${closes}`;
}

function deliveryRow({ event, attempts, answer, acknowledged }: WebhookDelivery): Html {
  return html`<tr><th scope="row"><code>${event.id}</code></th><td>${event.type}</td><td>${attempts}</td>
    <td>${acknowledged ? `acknowledged (${answer ?? ""})` : (answer ?? "not sent yet")}</td>
    <td>${button(`/events/${event.id}/again`, "Send again")}</td></tr>`;
}

const heading = (text: string): Html => html`<th scope="col">${text}</th>`;
const empty = (text: string): Html => html`<tr><td colspan="5">${text}</td></tr>`;
const button = (action: string, label: string): Html =>
  html`<form method="post" action="${action}"><button>${label}</button></form>`;
