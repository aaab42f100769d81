/**
 * Hashes secrets under the old pepper again when they are used, and records the pepper of each hash. The request does
 * not wait for this. After a failure, the next use of the secret tries again. A hash is replaced only if it is
 * unchanged, so that concurrent gateways and rotations do not overwrite each other.
 */
import type pg from "pg";
import type { Log } from "../base/log.ts";
import { isDatabaseUnreachable } from "../db/errors.ts";
import { computeFingerprint, type Peppers } from "./peppers.ts";
import { hashToken } from "./secret-format.ts";

interface Options extends Peppers {
  pool: pg.Pool;
  log: Log;
  keepsPeppers?: () => boolean;
}

interface Seen {
  reference: string;
  token: string;
  /** The hash that the database has. */
  hash: Buffer;
  madeWith: keyof Peppers;
  /** The fingerprint of the pepper, as recorded with the hash. */
  writtenDown: string | null;
}

interface Rehashing {
  /** Whether the pepper is being replaced and the database has the columns for it. */
  isOn(): boolean;
  seen(secret: Seen): void;
  /** Records the pepper of a new secret, in the transaction that creates the secret. */
  issued(client: pg.PoolClient, reference: string): Promise<void>;
  /** Resolves when no write is in flight. */
  idle(): Promise<void>;
}

/** The columns of a kind's secrets. A key's current and previous secrets are in different columns. */
const PLACES = {
  api_key: [
    { reference: "reference", hash: "secret_hash", pepper: "pepper" },
    { reference: "previous_reference", hash: "previous_hash", pepper: "previous_pepper" },
  ],
  host_token: [{ reference: "reference", hash: "secret_hash", pepper: "pepper" }],
};

export function openSecretRehashing(table: keyof typeof PLACES, options: Options): Rehashing {
  const { pool, log, pepper, old, keepsPeppers = () => true } = options;
  const fingerprint = computeFingerprint(pepper);
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
          log[isDatabaseUnreachable(error) ? "debug" : "warn"](
            { err: error },
            "could not rehash a secret with the new pepper",
          ),
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
