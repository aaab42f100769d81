/**
 * The pepper, and the one before or after it while it is being replaced. Secrets are known by any of them. One that was hashed
 * under the old pepper is hashed anew when it is shown, because no one but its holder has it; which pepper a hash was made with is
 * written beside it, so that an operator sees when the old one is needed no more.
 */
import { createHmac } from "node:crypto";
import type pg from "pg";
import { z } from "zod";
import { column, queryOne, queryRow, row } from "../db/rows.ts";
import { hashToken, sameHash } from "./secrets.ts";

/** The migration that has the columns for it. */
export const PEPPERS_SCHEMA = 29;

export interface Peppers {
  /** What is issued is hashed under it. */
  pepper: string;
  /** The one before it. What is seen under it is hashed anew. */
  old?: string | undefined;
  /** The one that other gateways may have already. What is seen under it is left as it is. */
  next?: string | undefined;
}

/** Tells peppers apart, and nothing about them. */
export const fingerprintOf = (pepper: string): string =>
  createHmac("sha256", pepper).update("which pepper").digest("hex").slice(0, 16);

/** Which of the peppers the stored hash was made with. */
export function madeWith(stored: Buffer, token: string, peppers: Peppers): keyof Peppers | undefined {
  for (const which of ["pepper", "old", "next"] as const) {
    const pepper = peppers[which];
    if (pepper !== undefined && sameHash(stored, hashToken(token, pepper))) return which;
  }
  return undefined;
}

const There = row({ there: z.boolean() });

/** For a command: whether the database can tell. Gateways know their schema. */
export async function keepsPeppers(pool: pg.Pool): Promise<boolean> {
  const { there } = await queryOne(pool, There, "select count(*) > 0 as there from migration where version >= $1", [
    PEPPERS_SCHEMA,
  ]);
  return there;
}

const Unseen = row({ total: column.count, unseen: column.count, unseenInUse: column.count });

export interface SeenUnder {
  /** Secrets that work, without those of sessions, which end within half a day. */
  total: number;
  /** Not known to be hashed under the pepper, and how many of these were used in the last 30 days. */
  unseen: number;
  unseenInUse: number;
}

/** How many secrets were seen since the pepper was changed. A key's secret before its last counts while it works. */
export async function seenUnder(pool: pg.Pool, table: "api_key" | "host_token", pepper: string): Promise<SeenUnder> {
  const previous =
    table === "api_key"
      ? `union all select previous_pepper, last_used_at from api_key
          where revoked_at is null and previous_until > now() and (expires_at is null or expires_at > now())`
      : "";
  const works = table === "api_key" ? "and (expires_at is null or expires_at > now()) and session_id is null" : "";
  const counted = await queryRow(
    pool,
    Unseen,
    `select count(*)::int as total,
            count(*) filter (where pepper is distinct from $1)::int as unseen,
            count(*) filter (where pepper is distinct from $1
                               and last_used_at > now() - interval '30 days')::int as "unseenInUse"
       from (select pepper, last_used_at from ${table} where revoked_at is null ${works} ${previous}) as secret`,
    [fingerprintOf(pepper)],
  );
  return counted ?? { total: 0, unseen: 0, unseenInUse: 0 };
}
