/**
 * Creates the accounts of a run through the console before any fault: an operator, builder accounts with keys, and a
 * host.
 */

import { createHostAccount, createOperator, signIn } from "../stage/test-accounts.ts";
import { parsePublicUuid } from "../uuid-of-public-id.ts";
import type { ThreeGatewayStage } from "./three-gateway-stage.ts";

const RICH = 2;
const TIGHT = 3;
/** Rate limits far above the load, because they are not tested here. */
const WIDE = { requests_per_minute: 1_000_000, tokens_per_minute: 100_000_000, in_flight: 10_000 };

export interface CallerAccount {
  /** The account's ID in the database, and its public name in the console. */
  id: string;
  name: string;
  /** The account has little credit, so that its concurrent requests compete for it. */
  isTight: boolean;
  key: CallerKey;
}

export interface CallerKey {
  id: string;
  name: string;
  secret: string;
}

export interface Callers {
  cookie: string;
  accounts: CallerAccount[];
  /** A key of the first account. The key gets a daily budget. */
  budgeted: CallerKey;
}

export async function createCallers(stage: ThreeGatewayStage): Promise<Callers> {
  const { admin, gateways } = stage;
  const baseUrl = `http://127.0.0.1:${gateways[0]?.port}`;
  await createOperator(admin);
  const cookie = await signIn(baseUrl);
  const console_ = async <T>(method: string, path: string, body: object, account?: string): Promise<T> => {
    const response = await fetch(`${baseUrl}/console/api/${path}`, {
      method,
      headers: consoleHeaders(cookie, account),
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  const newKey = async (account: string): Promise<CallerKey> => {
    const { id, secret } = await console_<{ id: string; secret: string }>("POST", "keys", { name: "a key" }, account);
    await console_("PUT", `operator/keys/${id}/limits`, WIDE);
    return { id: parsePublicUuid("key", id), name: id, secret };
  };
  const accounts: CallerAccount[] = [];
  for (let i = 0; i < RICH + TIGHT; i++) {
    const { id: name } = await console_<{ id: string }>("POST", "accounts", { kind: "builder", name: `builder ${i}` });
    accounts.push({ id: parsePublicUuid("acc", name), name, isTight: i >= RICH, key: await newKey(name) });
  }
  const budgeted = await newKey((accounts[0] as CallerAccount).name);
  await stage.startAgents(await createHostAccount(admin));
  return { cookie, accounts, budgeted };
}

export const consoleHeaders = (cookie: string, account?: string): Record<string, string> => ({
  cookie,
  "sec-fetch-site": "same-origin",
  "content-type": "application/json",
  ...(account !== undefined && { "x-tollgate-account": account }),
});
