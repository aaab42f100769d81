/**
 * Manages the account's signing keys. They are listed in its JWT, so that a key can be replaced while nodes are
 * connected. A gateway adds its own key before it connects, because that key signs its login, and keeps the others.
 * Only an operator removes a key. The servers then disconnect all clients with credentials of that key.
 */
import type { Clock } from "../../base/clock.ts";
import { signJwt } from "../credentials/jwt.ts";
import type { SigningKey } from "../credentials/nkeys.ts";
import { listSigningKeys, withSigningKeys } from "./account-jwt.ts";
import { openSystemAccountAccess, type SystemUser } from "./system-account.ts";

interface Signers {
  url: string;
  system: SystemUser;
  /** The public key of the NATS account. */
  account: string;
  operator: SigningKey;
  clock: Clock;
  /** The maximum time for a server's answer or greeting. */
  answerTimeoutMs?: number | undefined;
}

/** Adds these keys to the account's signing keys. */
export const addSigningKeys = (where: Signers, keys: string[]): Promise<void> =>
  change(where, (named) => [...named, ...keys.filter((key) => !named.includes(key))]);

/** Makes these keys the only signing keys. Returns the removed ones. */
export async function setSigningKeys(where: Signers, keys: string[]): Promise<string[]> {
  let removed: string[] = [];
  await change(where, (named) => {
    removed = named.filter((key) => !keys.includes(key));
    return keys;
  });
  return removed;
}

async function change(where: Signers, to: (named: string[]) => string[]): Promise<void> {
  const { url, system: user, account, operator, clock, answerTimeoutMs } = where;
  await openSystemAccountAccess({ url, user, account, answerTimeoutMs }, async (record) => {
    const claims = await record.read();
    const named = listSigningKeys(claims);
    const wanted = to(named);
    if (wanted.length === named.length && wanted.every((key) => named.includes(key))) return;
    await record.write(signJwt(operator, withSigningKeys(claims, wanted, Math.floor(clock.now() / 1000))));
  });
}
