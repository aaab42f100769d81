/**
 * How a password is stored: as a scrypt hash, one of which takes a tenth of a second of a core, so that nobody guesses
 * many from a stolen table. Tests that are not about that take less (testing/cheap-hash.ts).
 */
import { hashPassword, verifyPassword } from "better-auth/crypto";

export interface PasswordHash {
  hash(password: string): Promise<string>;
  verify(known: { hash: string; password: string }): Promise<boolean>;
}

export const scryptHash: PasswordHash = { hash: hashPassword, verify: verifyPassword };
