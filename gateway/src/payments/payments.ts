/**
 * Buying credits: a builder starts a checkout, pays at the provider, and the provider's signed news become ledger transfers.
 * What the buyer's browser says on its way back is never believed.
 */
import { tooManyCheckouts } from "@tollgate/api/console/money.ts";
import type pg from "pg";
import { type NewId, publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { type Fault, fault, invalidRequest } from "../faults.ts";
import { countOpenCheckouts } from "./open-checkouts.ts";
import { findPack, PACKS, type Pack } from "./packs.ts";
import { type OpenedCheckout, type PaymentProvider, type ProviderEvent, ProviderUnavailable } from "./provider.ts";
import { forgetOldEvents, type Taken, takeIn } from "./receive.ts";

interface CheckoutRequest {
  accountId: Uuid;
  packId: string;
  /** Where the buyer's browser goes afterwards; given the checkout's id (`pay_…`). */
  successUrl: (reference: string) => string;
  cancelUrl: (reference: string) => string;
}

interface StartedCheckout {
  id: Uuid;
  url: string;
  pack: Pack;
}

export interface Payments {
  packs: readonly Pack[];
  /**
   * 422 `unknown_pack`; 429 `rate_limit_requests` where the account has too many open; 502 `payment_provider_unavailable`.
   * Then nothing was written and nothing can be paid.
   */
  checkout(request: CheckoutRequest): Promise<StartedCheckout>;
  /** Resolves once everything that follows from the event is committed. 400 `invalid_signature`. */
  receive(body: Buffer, signature: string | undefined): Promise<void>;
  /** Forgets the provider's events that are too old to matter; how many. */
  sweep(): Promise<number>;
}

interface PaymentsOptions {
  pool: pg.Pool;
  provider: PaymentProvider;
  newId: NewId;
  log: Log;
}

export function openPayments(options: PaymentsOptions): Payments {
  const { pool, provider, newId, log } = options;
  const openCheckouts = countOpenCheckouts({ pool });
  const start = async (id: Uuid, pack: Pack, request: CheckoutRequest): Promise<StartedCheckout> => {
    const { accountId, successUrl, cancelUrl } = request;
    const reference = publicId("pay", id);
    const { session, url } = await orUnavailable(log, reference, () =>
      provider.openCheckout({
        reference,
        account: publicId("acc", accountId),
        product: pack.name,
        price: pack.price,
        successUrl: successUrl(reference),
        cancelUrl: cancelUrl(reference),
      }),
    );
    // Before the buyer learns the address: whoever can pay is on record.
    await pool.query(
      "insert into payment_checkout (id, account_id, pack, amount, live, provider_session) values ($1, $2, $3, $4, $5, $6)",
      [id, accountId, pack.id, pack.price.toString(), provider.live, session],
    );
    return { id, url, pack };
  };
  return {
    packs: PACKS,
    async checkout(request) {
      const pack = findPack(request.packId);
      if (pack === undefined) throw unknownPack();
      const id = newId();
      const started = await openCheckouts.within(request.accountId, id, () => start(id, pack, request));
      if ("waitS" in started) throw tooManyOpen(started.waitS);
      return started.opened;
    },
    async receive(body, signature) {
      const event = provider.readEvent(body, signature);
      if (event.live !== provider.live) {
        log.error({ event: event.id, live: event.live }, "an event of the provider's other mode was refused");
        const [theirs, ours] = event.live ? ["live", "test"] : ["test", "live"];
        throw invalidRequest("livemode", `This is an event of ${theirs} mode; this gateway is in ${ours} mode.`);
      }
      report(log, event, await takeIn({ pool, newId }, event));
    },
    sweep: () => forgetOldEvents(pool),
  };
}

/** A client that waits on its own waits for a minute at most; a longer wait is told to the person. */
function tooManyOpen(waitS: number): Fault {
  return fault("rate_limit_requests", {
    retry: waitS > 60 ? "never" : "later",
    message: tooManyCheckouts(waitS),
    headers: { "retry-after": String(waitS) },
  });
}

function unknownPack(): Error {
  const offered = PACKS.map(({ id }) => id).join(", ");
  return fault("unknown_pack", { message: `No such pack. On offer: ${offered}.`, extra: { param: "pack_id" } });
}

async function orUnavailable(
  log: Log,
  reference: string,
  open: () => Promise<OpenedCheckout>,
): Promise<OpenedCheckout> {
  try {
    return await open();
  } catch (cause) {
    if (!(cause instanceof ProviderUnavailable)) throw cause;
    log.error({ checkout: reference, reason: cause.message, ...cause.details }, "the payment provider failed us");
    throw fault("payment_provider_unavailable", { cause });
  }
}

function report(log: Log, { id, type, news }: ProviderEvent, { outcome, checkoutId, moves }: Taken): void {
  const what = {
    event: id,
    type,
    outcome,
    ...(checkoutId !== null && { checkout: publicId("pay", checkoutId) }),
    ...(moves.length > 0 && { moves: moves.map(({ kind, amount }) => ({ kind, pico: amount.toString() })) }),
  };
  if (outcome === "mismatch") {
    log.error({ ...what, told: plain(news) }, "a payment does not fit its checkout; nothing was moved for it");
  } else if (outcome === "unknown") {
    log.error({ ...what, told: plain(news) }, "the provider tells of a checkout that is not in this database");
  } else if (moves.length > 0) {
    log.info(what, "a payment was booked");
  } else {
    log.debug(what, "an event of the payment provider was taken in");
  }
}

/** For the log, which has no bigints. */
const plain = (news: ProviderEvent["news"]): unknown =>
  JSON.parse(JSON.stringify(news, (_key, value) => (typeof value === "bigint" ? value.toString() : value)));
