/**
 * Keys that sign for the account beside its own: named in its JWT, so that one can take the place of another while nodes are
 * connected. A gateway names its own before it connects, since it signs its own login; others' stay. Only an operator takes
 * one away, and the servers then drop whoever it signed for.
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
  /** How long a server has for an answer, or to greet. */
  answerTimeoutMs?: number | undefined;
}

/** Names these, too. */
export const nameSigners = (where: Signers, keys: string[]): Promise<void> =>
  change(where, (named) => [...named, ...keys.filter((key) => !named.includes(key))]);

/** Names these and no others. Returns those that were taken away. */
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
