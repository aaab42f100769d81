/**
 * The keys that the console's playground uses for the public API, one per session and account. They are not listed
 * among the account's keys and end with their session. Their limits are lower, because a browser page has the secret.
 */
import type pg from "pg";
import type { NewId, Uuid } from "../base/ids.ts";
import type { Random } from "../base/random.ts";
import type { Broadcast } from "../db/broadcast.ts";
import { column, queryRow, queryRows, row } from "../db/rows.ts";
import { computeFingerprint } from "./peppers.ts";
import { makeSecret } from "./secret-format.ts";
import { SECRET_CHANGE_TOPICS } from "./secret-store.ts";

const NAME = "Playground";
const HOURS_MAX = 12;
const LIMITS = { requestsPerMinute: 60, tokensPerMinute: 500_000, inFlight: 4 };

const Key = row({ id: column.uuid });
const Issued = row({ id: column.uuid, expiresAt: column.moment });

export interface PlaygroundKeys {
  /** Issues a key, or a new secret for the session's existing key. Returns undefined when the session has ended. */
  issue(of: { accountId: Uuid; sessionId: Uuid }): Promise<{ id: Uuid; token: string; expiresAt: Date } | undefined>;
  /** Lists all session keys that the account ever had, so that their requests can be found. */
  ofAccount(accountId: Uuid): Promise<Uuid[]>;
}

interface Options {
  pool: pg.Pool;
  pepper: string;
  keepsPeppers?: () => boolean;
  random: Random;
  newId: NewId;
  broadcast: Broadcast;
}

export function openPlaygroundKeys(options: Options): PlaygroundKeys {
  const { pool, pepper, keepsPeppers = () => true, random, newId, broadcast } = options;
  return {
    async issue({ accountId, sessionId }) {
      const { token, reference, hash } = makeSecret("tsk", random, pepper);
      const [column, value, put] = keepsPeppers() ? [", pepper", ", $11", ", pepper = excluded.pepper"] : ["", "", ""];
      // Locks the session. If it ends at the same time, the key ends too.
      const issued = await queryRow(
        pool,
        Issued,
        `with session as (
           select id, identity_id, least(expires_at, now() + $8 * interval '1 hour') as ends
             from identity_session where id = $5 and expires_at > now() for key share)
         insert into api_key (id, account_id, name, reference, secret_hash, session_id, created_by, expires_at,
                              own_requests_per_minute, own_tokens_per_minute, own_in_flight${column})
         select $1, $2, $9, $3, $4, id, identity_id, ends, $6, $10, $7${value} from session
             on conflict (session_id, account_id) where revoked_at is null and session_id is not null
             do update set reference = excluded.reference, secret_hash = excluded.secret_hash,
                           expires_at = excluded.expires_at${put}
         returning id, expires_at as "expiresAt"`,
        [
          newId(),
          accountId,
          reference,
          hash,
          sessionId,
          LIMITS.requestsPerMinute,
          LIMITS.inFlight,
          HOURS_MAX,
          NAME,
          LIMITS.tokensPerMinute,
          ...(value === "" ? [] : [computeFingerprint(pepper)]),
        ],
      );
      if (issued === undefined) return undefined;
      // Makes gateways drop the replaced secret from their caches.
      await broadcast.send(SECRET_CHANGE_TOPICS.api_key, issued.id);
      return { ...issued, token };
    },
    async ofAccount(accountId) {
      const text = "select id from api_key where account_id = $1 and session_id is not null";
      return (await queryRows(pool, Key, text, [accountId])).map(({ id }) => id);
    },
  };
}
