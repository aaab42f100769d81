/**
 * The pepper, and the previous or next one during a replacement. Secrets are accepted under any of them. A secret hashed under the old
 * pepper is hashed again when it is used, because only its holder has it. The pepper of each hash is recorded, so that operators see when
 * the old one can be removed.
 */
import { createHmac } from "node:crypto";
import type pg from "pg";
import { z } from "zod";
import { column, queryOne, queryRow, row } from "../db/rows.ts";
import { hashToken, sameHash } from "./secrets.ts";

/** The migration that added the columns. */
export const PEPPERS_SCHEMA = 29;

export interface Peppers {
  /** Hashes new secrets. */
  pepper: string;
  /** The previous pepper. Secrets under it are hashed again when used. */
  old?: string | undefined;
  /** The next pepper, which other gateways may already use. Secrets under it stay as they are. */
  next?: string | undefined;
}

/** Identifies a pepper without revealing it. */
export const fingerprintOf = (pepper: string): string =>
  createHmac("sha256", pepper).update("which pepper").digest("hex").slice(0, 16);

/** The pepper of the stored hash. */
export function madeWith(stored: Buffer, token: string, peppers: Peppers): keyof Peppers | undefined {
  for (const which of ["pepper", "old", "next"] as const) {
    const pepper = peppers[which];
    if (pepper !== undefined && sameHash(stored, hashToken(token, pepper))) return which;
  }
  return undefined;
}

const There = row({ there: z.boolean() });

/** For a command: whether the database has the columns. Gateways know their schema. */
export async function keepsPeppers(pool: pg.Pool): Promise<boolean> {
  const { there } = await queryOne(pool, There, "select count(*) > 0 as there from migration where version >= $1", [
    PEPPERS_SCHEMA,
  ]);
  return there;
}

const Unseen = row({ total: column.count, unseen: column.count, unseenInUse: column.count });

export interface SeenUnder {
  /** Active secrets, without those of sessions, which expire within half a day. */
  total: number;
  /** Secrets not recorded under the pepper, and those among them used in the last 30 days. */
  unseen: number;
  unseenInUse: number;
}

/** Counts the secrets used since the pepper changed. A key's previous secret counts while it works. */
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
