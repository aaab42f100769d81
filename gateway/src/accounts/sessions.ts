/** Lists and ends an identity's sessions. Deleting the row ends a session immediately. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { SCRIPT_ACCESS } from "../base/stored-enumerations.ts";
import { column, queryRows, row } from "../db/rows.ts";

const OpenSession = row({
  id: column.uuid,
  address: z.string().nullable(),
  userAgent: z.string().nullable(),
  /** The access level of a script's session. Null for a browser's session. */
  scriptAccess: z.enum(SCRIPT_ACCESS).nullable(),
  createdAt: column.moment,
  expiresAt: column.moment,
});
export type OpenSession = z.infer<typeof OpenSession>;

export interface Sessions {
  /** Lists the sessions of an identity, newest first. */
  of(identityId: Uuid): Promise<OpenSession[]>;
  /** Ends one session. Returns false if the identity has no such session. */
  end(identityId: Uuid, sessionId: Uuid): Promise<boolean>;
  /** Ends all sessions but one. Returns how many ended. */
  endOthers(identityId: Uuid, keep: Uuid): Promise<number>;
}

interface SessionsOptions {
  pool: pg.Pool;
  /** Whether the schema has the tables for script sessions. */
  hasScripts: () => boolean;
}

export function openSessions({ pool, hasScripts }: SessionsOptions): Sessions {
  return {
    of: (identityId) =>
      queryRows(
        pool,
        OpenSession,
        `select id, ip_address as address, user_agent as "userAgent", created_at as "createdAt",
                expires_at as "expiresAt", ${hasScripts() ? "script_access" : "null"} as "scriptAccess"
           from identity_session where identity_id = $1 and expires_at > now() order by created_at desc, id desc`,
        [identityId],
      ),
    async end(identityId, sessionId) {
      const { rowCount } = await pool.query("delete from identity_session where identity_id = $1 and id = $2", [
        identityId,
        sessionId,
      ]);
      return rowCount === 1;
    },
    async endOthers(identityId, keep) {
      const { rowCount } = await pool.query("delete from identity_session where identity_id = $1 and id <> $2", [
        identityId,
        keep,
      ]);
      return rowCount ?? 0;
    },
  };
}

/** Invalidates emailed links and unfinished sign-ins, which were started with the old password. */
export async function invalidateEmailedLinks(pool: pg.Pool, identityId: string): Promise<void> {
  await pool.query("delete from identity_verification where value = $1", [identityId]);
}

/** Deletes expired rows. They are refused even before they are deleted. */
export async function deleteExpiredSessions(pool: pg.Pool): Promise<void> {
  await pool.query("delete from identity_session where expires_at <= now()");
  await pool.query("delete from identity_verification where expires_at <= now()");
}
