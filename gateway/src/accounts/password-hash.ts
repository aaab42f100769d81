/**
 * How a password is stored: as a scrypt hash, one of which takes a tenth of a second of a core, so that no one guesses
 * many from a stolen table. Tests that are not about that take less (testing/cheap-hash.ts).
 */
export interface PasswordHash {
  hash(password: string): Promise<string>;
  verify(known: { hash: string; password: string }): Promise<boolean>;
}

/** Loaded with the first password: few commands have to do with one. */
const library = () => import("better-auth/crypto");

export const scryptHash: PasswordHash = {
  hash: async (password) => (await library()).hashPassword(password),
  verify: async (known) => (await library()).verifyPassword(known),
};
