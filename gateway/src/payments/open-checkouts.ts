/** Limits an account's open checkouts, so that a script cannot open an unlimited number of payment pages. */
import { OPEN_CHECKOUTS_MAX } from "@tollgate/api/api-limits.ts";
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { column, queryOne, row } from "../db/rows.ts";

const WINDOW_S = 3600;

/** `wait`: seconds until the oldest open checkout no longer counts; null without open checkouts. */
const Counted = row({ others: column.count, wait: z.int().nullable() });

interface OpenCheckouts {
  /**
   * Runs `open`, which records the checkout `id`. If the account has opened too many within the last hour, returns the
   * seconds to wait instead.
   */
  within<T>(accountId: Uuid, id: Uuid, open: () => Promise<T>): Promise<{ opened: T } | { waitS: number }>;
}

export function createOpenCheckoutLimiter({ pool }: { pool: pg.Pool }): OpenCheckouts {
  /**
   * Checkouts that this gateway is currently opening, by account. They count towards the limit before they are
   * recorded.
   */
  const inFlight = new Map<Uuid, Set<Uuid>>();

  return {
    async within(accountId, id, open) {
      const here = inFlight.get(accountId) ?? new Set();
      inFlight.set(accountId, here.add(id));
      try {
        const mine = [...here];
        const { others, wait } = await queryOne(
          pool,
          Counted,
          `select count(*) filter (where id <> all($3::uuid[]))::int as others,
                  ceil(extract(epoch from min(created_at) + make_interval(secs => $2) - now()))::int as wait
             from payment_checkout
            where account_id = $1 and state = 'open' and created_at > now() - make_interval(secs => $2)`,
          [accountId, WINDOW_S, mine],
        );
        if (others + mine.length > OPEN_CHECKOUTS_MAX) return { waitS: Math.max(1, wait ?? 1) };
        return { opened: await open() };
      } finally {
        here.delete(id);
        if (here.size === 0) inFlight.delete(accountId);
      }
    },
  };
}
