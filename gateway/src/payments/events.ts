/** The record of the provider's events: written once for each, and forgotten when nobody will ask for it any more. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import type { ProviderEvent } from "./provider.ts";

/** As the column `payment_event.outcome` says. */
export type Outcome = "applied" | "waiting" | "unknown" | "mismatch" | "ignored";

/** Longer than a provider delivers again, and than cards can be disputed. */
const KEEP_DAYS = 400;

export async function noteEvent(
  client: pg.PoolClient,
  { id: providerEvent, type, occurredAt }: ProviderEvent,
  taken: { id: Uuid; outcome: Outcome; checkoutId: Uuid | null },
): Promise<void> {
  await client.query(
    `insert into payment_event (id, provider_event, type, occurred_at, outcome, checkout_id)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (provider_event) do update
       set deliveries = payment_event.deliveries + 1, outcome = excluded.outcome, checkout_id = excluded.checkout_id`,
    [taken.id, providerEvent, type, occurredAt, taken.outcome, taken.checkoutId],
  );
}

/**
 * What follows from an event is kept as facts and moves for ever, so a repeat of a forgotten one changes nothing. Those that
 * somebody has to look at stay. Returns how many were forgotten.
 */
export async function forgetOldEvents(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from payment_event
      where received_at < now() - make_interval(days => $1) and outcome not in ('mismatch', 'unknown')`,
    [KEEP_DAYS],
  );
  return rowCount ?? 0;
}
