/**
 * The pepper (the server's secret for hashing keys), and the previous or next one during a replacement. Keys are
 * accepted under any of them. A key hashed with the old pepper is hashed again when it is used, because only its holder
 * has it. The pepper of each hash is recorded, so that operators see when the old pepper can be removed.
 */
import { createHmac } from "node:crypto";
import type pg from "pg";
import { z } from "zod";
import { column, queryOne, queryRow, row } from "../db/rows.ts";
import { hashToken, isSameHash } from "./secret-format.ts";

/** The migration that adds the columns for peppers. */
export const PEPPERS_MIGRATION = 29;

export interface Peppers {
  /** Used to hash new secrets. */
  pepper: string;
  /** The previous pepper. Secrets hashed with it are hashed again when they are used. */
  old?: string | undefined;
  /** The next pepper, which other gateways may already use. Secrets hashed with it stay unchanged. */
  next?: string | undefined;
}

/** A value that identifies a pepper without revealing it. */
export const computeFingerprint = (pepper: string): string =>
  createHmac("sha256", pepper).update("which pepper").digest("hex").slice(0, 16);

/** Returns the pepper with which the stored hash was made from this token. */
export function matchPepper(stored: Buffer, token: string, peppers: Peppers): keyof Peppers | undefined {
  for (const which of ["pepper", "old", "next"] as const) {
    const pepper = peppers[which];
    if (pepper !== undefined && isSameHash(stored, hashToken(token, pepper))) return which;
  }
  return undefined;
}

const There = row({ there: z.boolean() });

/** Whether the database has the columns for peppers. For commands, which may run on any schema version. */
export async function hasPepperColumns(pool: pg.Pool): Promise<boolean> {
  const { there } = await queryOne(pool, There, "select count(*) > 0 as there from migration where version >= $1", [
    PEPPERS_MIGRATION,
  ]);
  return there;
}

const Unseen = row({ total: column.count, unseen: column.count, unseenInUse: column.count });

export interface PepperUsage {
  /** Active secrets, except those of sessions, which expire within half a day. */
  total: number;
  /** Active secrets of which the database does not record that they are hashed with this pepper. */
  unseen: number;
  /** Those of them that were used in the last 30 days. */
  unseenInUse: number;
}

/**
 * Counts the active secrets, and those that are not hashed with this pepper yet. A key's previous secret counts as long
 * as it works.
 */
export async function countPepperUsage(
  pool: pg.Pool,
  table: "api_key" | "host_token",
  pepper: string,
): Promise<PepperUsage> {
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
    [computeFingerprint(pepper)],
  );
  return counted ?? { total: 0, unseen: 0, unseenInUse: 0 };
}
