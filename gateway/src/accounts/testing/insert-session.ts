/** Test helper: inserts a session for an identity, for tests that do not test the sign-in itself. */
import { randomBytes } from "node:crypto";
import type pg from "pg";
import type { NewId, Uuid } from "../../base/ids.ts";
import { COOKIE_PREFIX } from "../better-auth-constants.ts";
import { signCookieValue } from "../signed-cookie.ts";

export interface SessionContext {
  pool: pg.Pool;
  newId: NewId;
  /** The gateway's secret for signing cookies. */
  secret: string;
}

interface SessionCookie {
  name: string;
  value: string;
}

/** Inserts a session of one week, like a sign-in over plain HTTP, and returns its cookie. */
export async function insertSession(
  { pool, newId, secret }: SessionContext,
  { identityId, address = null }: { identityId: Uuid; address?: string | null },
): Promise<SessionCookie> {
  const token = randomBytes(16).toString("hex");
  await pool.query(
    `insert into identity_session (id, identity_id, token, ip_address, user_agent, expires_at)
     values ($1, $2, $3, $4, '', now() + interval '7 days')`,
    [newId(), identityId, token, address],
  );
  return { name: `${COOKIE_PREFIX}.session_token`, value: signCookieValue(token, secret) };
}
