/**
 * Signing keys of the account, listed in its JWT so that a key can be replaced while nodes are connected. A gateway adds its own before it
 * connects, because it signs its own login, and keeps the others. Only an operator removes a key; the servers then drop the clients that it
 * signed for.
 */
import type { Clock } from "../../base/clock.ts";
import { signJwt } from "../credentials/jwt.ts";
import type { SigningKey } from "../credentials/nkeys.ts";
import { signersOf, withSigners } from "./account-jwt.ts";
import { type SystemUser, withSystem } from "./system.ts";

interface Signers {
  url: string;
  system: SystemUser;
  /** The account's public key. */
  account: string;
  operator: SigningKey;
  clock: Clock;
  /** How long a server may take to answer or greet. */
  answerTimeoutMs?: number | undefined;
}

/** Adds these keys. */
export const nameSigners = (where: Signers, keys: string[]): Promise<void> =>
  change(where, (named) => [...named, ...keys.filter((key) => !named.includes(key))]);

/** Sets exactly these keys. Returns the removed ones. */
export async function keepSigners(where: Signers, keys: string[]): Promise<string[]> {
  let removed: string[] = [];
  await change(where, (named) => {
    removed = named.filter((key) => !keys.includes(key));
    return keys;
  });
  return removed;
}

async function change(where: Signers, to: (named: string[]) => string[]): Promise<void> {
  const { url, system: user, account, operator, clock, answerTimeoutMs } = where;
  await withSystem({ url, user, account, answerTimeoutMs }, async (record) => {
    const claims = await record.read();
    const named = signersOf(claims);
    const wanted = to(named);
    if (wanted.length === named.length && wanted.every((key) => named.includes(key))) return;
    await record.write(signJwt(operator, withSigners(claims, wanted, Math.floor(clock.now() / 1000))));
  });
}
