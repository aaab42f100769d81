/**
 * Writes down which pepper a secret's hash was made with, and hashes anew what was seen under the old one. Both happen beside the
 * request that showed the secret, which was answered for by the hash that was there: no one waits, and what fails is done the
 * next time. The hash is only replaced while it is the one that was seen, so two gateways at once, or a secret that is given a new
 * one meanwhile, lose nothing.
 */
import type pg from "pg";
import type { Log } from "../base/log.ts";
import { isAway } from "../db/errors.ts";
import { fingerprintOf, type Peppers } from "./peppers.ts";
import { hashToken } from "./secrets.ts";

interface Options extends Peppers {
  pool: pg.Pool;
  log: Log;
  keepsPeppers?: () => boolean;
}

interface Seen {
  reference: string;
  token: string;
  /** As it is stored. */
  hash: Buffer;
  madeWith: keyof Peppers;
  /** The fingerprint beside it. */
  writtenDown: string | null;
}

interface Rehashing {
  /** Whether the pepper is being replaced, and the database can tell how far that is. */
  isOn(): boolean;
  seen(secret: Seen): void;
  /** In the transaction that made the secret. */
  issued(client: pg.PoolClient, reference: string): Promise<void>;
  /** Resolves when nothing is being written. */
  idle(): Promise<void>;
}

/** A key has its secret in one pair of columns, and the one before it in another. */
const PLACES = {
  api_key: [
    { reference: "reference", hash: "secret_hash", pepper: "pepper" },
    { reference: "previous_reference", hash: "previous_hash", pepper: "previous_pepper" },
  ],
  host_token: [{ reference: "reference", hash: "secret_hash", pepper: "pepper" }],
};

export function openRehashing(table: keyof typeof PLACES, options: Options): Rehashing {
  const { pool, log, pepper, old, keepsPeppers = () => true } = options;
  const fingerprint = fingerprintOf(pepper);
  const inFlight = new Set<Promise<void>>();
  const write = async ({ reference, token, hash }: Seen): Promise<void> => {
    for (const place of PLACES[table]) {
      await pool.query(
        `update ${table} set ${place.hash} = $3, ${place.pepper} = $4 where ${place.reference} = $1 and ${place.hash} = $2`,
        [reference, hash, hashToken(token, pepper), fingerprint],
      );
    }
  };
  const isOn = (): boolean => old !== undefined && keepsPeppers();
  return {
    isOn,
    seen(secret) {
      const isDone = secret.madeWith === "pepper" && secret.writtenDown === fingerprint;
      if (!isOn() || isDone || secret.madeWith === "next") return;
      const writing = write(secret)
        .catch((error) =>
          log[isAway(error) ? "debug" : "warn"]({ err: error }, "could not rehash a secret with the new pepper"),
        )
        .finally(() => inFlight.delete(writing));
      inFlight.add(writing);
    },
    async issued(client, reference) {
      if (!keepsPeppers()) return;
      await client.query(`update ${table} set pepper = $2 where reference = $1`, [reference, fingerprint]);
    },
    async idle() {
      await Promise.all(inFlight);
    },
  };
}
