/**
 * Hashes passwords with scrypt. One hash takes 100 ms of CPU time, which slows guessing from a stolen table. Most tests
 * use a cheaper hash (testing/cheap-password-hash.ts).
 */
export interface PasswordHash {
  hash(password: string): Promise<string>;
  verify(known: { hash: string; password: string }): Promise<boolean>;
}

/** Loads the library with the first password, because few commands need it. */
const library = () => import("better-auth/crypto");

export const scryptHash: PasswordHash = {
  hash: async (password) => (await library()).hashPassword(password),
  verify: async (known) => (await library()).verifyPassword(known),
};
