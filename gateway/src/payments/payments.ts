/**
 * Buying credit: a builder opens a checkout and pays at the provider, whose signed events become ledger transfers. The
 * return of the buyer's browser proves nothing and moves no money. Automatic top-ups use a saved card (top-ups.ts).
 */

import { describeCheckoutLimit } from "@tollgate/api/console/balance-and-usage.ts";
import { PAYMENT_PROVIDER_UNREACHABLE } from "@tollgate/api/console/credits.ts";
import type pg from "pg";
import type { Clock } from "../base/clock.ts";
import { type NewId, publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Pico } from "../base/money.ts";
import { type Fault, fault, invalidRequest } from "../faults.ts";
import { DEFAULT_FORMAT } from "../notifications/localized-format.ts";
import type { Notify } from "../notifications/notify.ts";
import { CREDIT_PACKS, type CreditPack, CUSTOM_PACK, findPack } from "./credit-packs.ts";
import { createOpenCheckoutLimiter } from "./open-checkouts.ts";
import { findPaidPurchase, listPayments, type Payment } from "./payment-list.ts";
import { openPaymentMethods, type SavedCard } from "./payment-methods.ts";
import { type PaymentProvider, type ProviderEvent, ProviderUnavailable, type ReceiptUrls } from "./payment-provider.ts";
import { deleteOldEvents, type PaymentEventResult, processEvent } from "./process-payment-events.ts";
import { createTopUpFailureHandler, openTopUps, type TopUps } from "./top-ups.ts";

interface CheckoutRequest {
  accountId: Uuid;
  /** The purchase: a pack, or an amount in whole cents. */
  what: { packId: string } | { amount: Pico };
  /** Returns the URL to which the buyer returns, given the checkout's ID (`pay_…`). */
  successUrl: (reference: string) => string;
  cancelUrl: (reference: string) => string;
}

/** The purchased credit. `pack`: the pack's ID; null for a custom amount. */
type Goods = Pick<CreditPack, "name" | "price"> & { pack: string | null };

interface StartedCheckout extends Goods {
  id: Uuid;
  url: string;
}

interface SetupRequest {
  accountId: Uuid;
  successUrl: string;
  cancelUrl: string;
}

export interface Payments {
  packs: readonly CreditPack[];
  /**
   * Opens a checkout. 422 `unknown_pack`; 429 `rate_limit_requests` for too many open checkouts; 502
   * `payment_provider_unavailable`. After an error nothing is recorded and nothing can be paid.
   */
  checkout(request: CheckoutRequest): Promise<StartedCheckout>;
  /** The account's saved card for automatic top-ups. */
  method(accountId: Uuid): Promise<SavedCard | undefined>;
  /** Opens the page that saves a card. 429 `rate_limit_requests`, 502 `payment_provider_unavailable`. */
  openSetup(request: SetupRequest): Promise<{ url: string }>;
  /** Returns false if no card is saved. 502 `payment_provider_unavailable`: the card stays saved. */
  removeMethod(accountId: Uuid): Promise<boolean>;
  topUps: TopUps;
  list(accountId: Uuid, page: { before: string | undefined; limit: number }): Promise<Payment[]>;
  /** Returns undefined if the account has no such purchase. 502 `payment_provider_unavailable`. */
  receipts(accountId: Uuid, purchaseId: Uuid): Promise<ReceiptUrls | undefined>;
  /** Processes a webhook. Resolves when all effects of the event are committed. 400 `invalid_signature`. */
  receive(body: Buffer, signature: string | undefined): Promise<void>;
  /** Deletes old provider events, and returns their number. */
  sweep(): Promise<number>;
}

interface PaymentsOptions {
  pool: pg.Pool;
  provider: PaymentProvider;
  notify: Notify;
  clock: Clock;
  newId: NewId;
  log: Log;
}

export function openPayments(options: PaymentsOptions): Payments {
  const { pool, provider, newId, log } = options;
  const openCheckouts = createOpenCheckoutLimiter({ pool });
  const methods = openPaymentMethods(options);
  const onFailed = createTopUpFailureHandler(options);
  const start = async (id: Uuid, goods: Goods, request: CheckoutRequest): Promise<StartedCheckout> => {
    const { accountId, successUrl, cancelUrl } = request;
    const reference = publicId("pay", id);
    const { session, url } = await orUnavailable(log, { checkout: reference }, () =>
      provider.openCheckout({
        reference,
        account: publicId("acc", accountId),
        product: goods.name,
        price: goods.price,
        successUrl: successUrl(reference),
        cancelUrl: cancelUrl(reference),
      }),
    );
    // The checkout is recorded before the buyer gets its URL, so that no payment can precede the record.
    await pool.query(
      "insert into payment_checkout (id, account_id, pack, amount, live, provider_session) values ($1, $2, $3, $4, $5, $6)",
      [id, accountId, goods.pack ?? CUSTOM_PACK, goods.price.toString(), provider.live, session],
    );
    return { id, url, ...goods };
  };
  return {
    packs: CREDIT_PACKS,
    async checkout(request) {
      const goods = goodsOf(request.what);
      const id = newId();
      const started = await openCheckouts.within(request.accountId, id, () => start(id, goods, request));
      if ("waitS" in started) throw tooManyOpen(started.waitS);
      return started.opened;
    },
    method: (accountId) => methods.of(accountId),
    async openSetup({ accountId, ...page }) {
      const about = { account: publicId("acc", accountId) };
      const opened = await orUnavailable(
        log,
        about,
        () => methods.openSetup(accountId, page),
        PAYMENT_PROVIDER_UNREACHABLE.setup,
      );
      if ("waitS" in opened) throw tooManyOpen(opened.waitS);
      return opened;
    },
    removeMethod: (accountId) =>
      orUnavailable(
        log,
        { account: publicId("acc", accountId) },
        () => methods.remove(accountId),
        PAYMENT_PROVIDER_UNREACHABLE.removal,
      ),
    topUps: openTopUps(options),
    list: (accountId, page) => listPayments(pool, accountId, page),
    async receipts(accountId, purchaseId) {
      const paid = await findPaidPurchase(pool, accountId, purchaseId);
      if (paid === undefined) return undefined;
      const { session, payment } = paid;
      if (payment === null) return { receipt: null, invoice: null };
      const about = { checkout: publicId("pay", purchaseId) };
      return await orUnavailable(
        log,
        about,
        () => provider.receipts({ session, payment }),
        PAYMENT_PROVIDER_UNREACHABLE.receipt,
      );
    },
    async receive(body, signature) {
      const event = provider.readEvent(body, signature);
      if (event.live !== provider.live) {
        log.error(
          { event: event.id, live: event.live },
          "refused a payment event: its mode (live or test) is not the gateway's",
        );
        const [theirs, ours] = event.live ? ["live", "test"] : ["test", "live"];
        throw invalidRequest("livemode", `This is a ${theirs} mode event; this gateway uses ${ours} mode.`);
      }
      const { news } = event;
      // Requests the card from the provider first. If that fails, the event is not acknowledged, so the provider sends
      // it again.
      const saved =
        news.kind === "setup" && (await methods.isOurs(news.customer))
          ? await orUnavailable(log, { event: event.id }, () => provider.savedMethod(news.setup))
          : undefined;
      report(log, event, await processEvent({ pool, newId, onFailed }, event, saved));
    },
    sweep: () => deleteOldEvents(pool),
  };
}

function goodsOf(what: CheckoutRequest["what"]): Goods {
  if ("amount" in what)
    return { pack: null, name: `${DEFAULT_FORMAT.dollars(what.amount)} of credits`, price: what.amount };
  const pack = findPack(what.packId);
  if (pack === undefined) throw unknownPack();
  return { pack: pack.id, name: pack.name, price: pack.price };
}

/**
 * An error with a retry time. Client libraries wait at most a minute by themselves; a longer wait is left to the
 * person.
 */
function tooManyOpen(waitS: number): Fault {
  return fault("rate_limit_requests", {
    retry: waitS > 60 ? "never" : "later",
    message: describeCheckoutLimit(waitS),
    headers: { "retry-after": String(waitS) },
  });
}

function unknownPack(): Error {
  const offered = CREDIT_PACKS.map(({ id }) => id).join(", ");
  return fault("unknown_pack", {
    message: `No credit pack has this ID. Available packs: ${offered}.`,
    extra: { param: "pack_id" },
  });
}

async function orUnavailable<T>(log: Log, about: object, ask: () => Promise<T>, message?: string): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    if (!(cause instanceof ProviderUnavailable)) throw cause;
    log.error({ ...about, reason: cause.message, ...cause.details }, "payment provider request failed");
    throw fault("payment_provider_unavailable", { cause, ...(message !== undefined && { message }) });
  }
}

function report(log: Log, { id, type, news }: ProviderEvent, { outcome, checkoutId, moves }: PaymentEventResult): void {
  const what = {
    event: id,
    type,
    outcome,
    ...(checkoutId !== null && { checkout: publicId("pay", checkoutId) }),
    ...(moves.length > 0 && { moves: moves.map(({ kind, amount }) => ({ kind, pico: amount.toString() })) }),
  };
  if (outcome === "mismatch") {
    log.error({ ...what, told: plain(news) }, "payment does not match its checkout; nothing was credited");
  } else if (outcome === "unknown") {
    log.error({ ...what, told: plain(news) }, "received a payment event whose checkout is not in the database");
  } else if (moves.length > 0) {
    log.info(what, "payment booked");
  } else {
    log.debug(what, "payment event received");
  }
}

/** Converts bigints to text, because the logger cannot print them. */
const plain = (news: ProviderEvent["news"]): unknown =>
  JSON.parse(JSON.stringify(news, (_key, value) => (typeof value === "bigint" ? value.toString() : value)));
