/**
 * Re-encrypts second-factor secrets and backup codes while the encryption secret is replaced: a person's own before
 * they are read, and those of all people in the sweep.
 */
import type pg from "pg";
import { z } from "zod";
import { column, queryRows, row } from "../db/rows.ts";

const Kept = row({ id: column.uuid, secret: z.string(), codes: z.string() });
type Kept = z.infer<typeof Kept>;

const KEPT = "select id, secret, backup_codes as codes from identity_two_factor";

export interface SecretReencryption {
  /** Re-encrypts this identity's second factor with the current secret. Call it before the sign-in library reads it. */
  makeReadable(identityId: string): Promise<void>;
  /** Counts the second factors that are encrypted with another secret than the current one. */
  others(): Promise<number>;
  /** Counts the second factors that one of the secrets can decrypt, and those that none can. */
  count(): Promise<{ readable: number; unreadable: number }>;
  /** Re-encrypts with the current secret every second factor that is encrypted with another one. */
  sweep(): Promise<void>;
}

export function openSecretReencryption({
  pool,
  secret,
  others,
}: {
  pool: pg.Pool;
  secret: string;
  others: string[];
}): SecretReencryption {
  const decryptedBy = async (key: string, { secret: first, codes }: Kept): Promise<[string, string] | undefined> => {
    const { symmetricDecrypt } = await import("better-auth/crypto");
    try {
      return [await symmetricDecrypt({ key, data: first }), await symmetricDecrypt({ key, data: codes })];
    } catch {
      return undefined; // Another secret encrypted the value, so its tag does not match.
    }
  };
  /**
   * Decrypts a value that one of the other secrets encrypted. Undefined if the current secret decrypts it, or none
   * does.
   */
  const decrypted = async (kept: Kept): Promise<[string, string] | undefined> => {
    if ((await decryptedBy(secret, kept)) !== undefined) return undefined;
    for (const other of others) {
      const found = await decryptedBy(other, kept);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const renew = async (kept: Kept): Promise<void> => {
    const plain = await decrypted(kept);
    if (plain === undefined) return;
    const { symmetricEncrypt } = await import("better-auth/crypto");
    const [first, codes] = await Promise.all(plain.map((data) => symmetricEncrypt({ key: secret, data })));
    // The condition includes the old values, so that the update has no effect if the row has changed since it was read.
    await pool.query(
      "update identity_two_factor set secret = $2, backup_codes = $3 where id = $1 and secret = $4 and backup_codes = $5",
      [kept.id, first, codes, kept.secret, kept.codes],
    );
  };
  return {
    async makeReadable(identityId) {
      if (others.length === 0) return;
      for (const kept of await queryRows(pool, Kept, `${KEPT} where identity_id = $1`, [identityId])) await renew(kept);
    },
    async others() {
      let count = 0;
      for (const kept of await queryRows(pool, Kept, KEPT)) if ((await decrypted(kept)) !== undefined) count += 1;
      return count;
    },
    async count() {
      const counts = { readable: 0, unreadable: 0 };
      for (const kept of await queryRows(pool, Kept, KEPT)) {
        const isRead = (await decryptedBy(secret, kept)) !== undefined || (await decrypted(kept)) !== undefined;
        counts[isRead ? "readable" : "unreadable"] += 1;
      }
      return counts;
    },
    async sweep() {
      if (others.length === 0) return;
      for (const kept of await queryRows(pool, Kept, KEPT)) await renew(kept);
    },
  };
}
