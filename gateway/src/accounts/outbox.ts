/**
 * Letters to the owners of an account that must not be lost: each is written in the transaction that gives reason for it, and
 * sent afterwards by whichever gateway takes it first. A mail server that is away is tried again for three days. A gateway that
 * dies between sending and noting so sends it once more, under the same id, by which mail programs know it as one.
 */
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { column, queryRows, row } from "../db/rows.ts";
import type { Letter, Mail } from "./mail.ts";

/** Longer than one sending takes: until then it is the business of the gateway that took it. */
const FIRST_PAUSE_S = 120;
const PAUSE_S_MAX = 3600;
const KEPT_DAYS = 3;
const AT_ONCE_MAX = 20;

const Taken = row({
  id: column.uuid,
  to: z.string(),
  subject: z.string(),
  text: z.string(),
});

export interface Outbox {
  /** Whether letters leave this platform at all. */
  readonly sends: boolean;
  /** A letter to each owner, which leaves once the client's transaction is committed. */
  toOwners(client: pg.PoolClient, accountId: Uuid, letter: Omit<Letter, "to" | "id">): Promise<void>;
  /** Sends what is due; how many left. */
  send(): Promise<number>;
}

interface OutboxOptions {
  pool: pg.Pool;
  clock: Clock;
  log: Log;
  /** Undefined: letters are kept for as long as they would be tried, in case a gateway comes that can send them. */
  mail: Mail | undefined;
}

export function openOutbox({ pool, clock, log, mail }: OutboxOptions): Outbox {
  const now = (): Date => new Date(clock.now());

  /** Moved on first, so that no other gateway takes the same. */
  const take = (): Promise<z.infer<typeof Taken>[]> =>
    queryRows(
      pool,
      Taken,
      `update letter l
          set attempts = l.attempts + 1,
              next_at = $1::timestamptz + make_interval(secs => least($2::float8 * 2 ^ least(l.attempts, 20), $3))
         from (select id from letter where next_at <= $1 order by next_at limit $4 for update skip locked) due, identity i
        where l.id = due.id and i.id = l.identity_id
        returning l.id, i.email as "to", l.subject, l.text`,
      [now(), FIRST_PAUSE_S, PAUSE_S_MAX, AT_ONCE_MAX],
    );

  const giveUp = async (): Promise<void> => {
    const { rowCount } = await pool.query(
      "delete from letter where created_at < $1::timestamptz - make_interval(days => $2)",
      [now(), KEPT_DAYS],
    );
    if (rowCount !== null && rowCount > 0)
      log.error({ letters: rowCount }, "emails dropped after days of failed attempts");
  };

  const post = async (through: Mail, letter: z.infer<typeof Taken>): Promise<boolean> => {
    try {
      await through.send(letter);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.warn({ reason, subject: letter.subject }, "email not sent; retrying");
      return false;
    }
    await pool.query("delete from letter where id = $1", [letter.id]);
    return true;
  };

  return {
    sends: mail !== undefined,
    async toOwners(client, accountId, { subject, text }) {
      await client.query(
        `insert into letter (id, identity_id, subject, text, next_at, created_at)
         select gen_random_uuid(), identity_id, $2, $3, $4, $4 from account_owner where account_id = $1`,
        [accountId, subject, text, now()],
      );
    },
    async send() {
      await giveUp();
      if (mail === undefined) return 0;
      const sent = await Promise.all((await take()).map((letter) => post(mail, letter)));
      return sent.filter(Boolean).length;
    },
  };
}
