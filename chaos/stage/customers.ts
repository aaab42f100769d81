/** The users of the stage: builders with and without credit, a host and an operator, created by operators' commands. */

import type { Customers, Payer } from "@tollgate/stage/load/load.ts";
import { uuidOf } from "../uuid-of.ts";
import { type Admin, ask } from "./admin.ts";

const RICH = 2;
const POOR = 2;
/** Amounts in dollars. A request of a poor account holds about two microdollars. */
const CREDIT = { rich: "900", poor: "0.0001" };
const OPERATOR = { email: "operator@chaos.example", password: "a password that only this run knows" };
/** Limits far above the load, because rate limits are not tested here. */
const WIDE = ["--requests-per-minute", "1000000", "--tokens-per-minute", "100000000", "--in-flight", "10000"];

type People = Omit<Customers, "port" | "operatorCookie">;

export async function openAccounts(admin: Admin): Promise<People> {
  const payers = (count: number, credit: string): Promise<Payer[]> =>
    Promise.all(Array.from({ length: count }, () => openPayer(admin, credit)));
  const [rich, poor, hostToken] = await Promise.all([
    payers(RICH, CREDIT.rich),
    payers(POOR, CREDIT.poor),
    openHost(admin),
    openOperator(admin),
  ]);
  return { rich, poor, hostToken };
}

/** Creates the operator for `signIn`. */
export async function openOperator(admin: Admin): Promise<void> {
  await ask(admin, ["operator", "create", "--email", OPERATOR.email, "--password", "-"], OPERATOR.password);
}

/** Returns the session's cookie. */
export async function signIn(baseUrl: string): Promise<string> {
  const response = await fetch(`${baseUrl}/console/api/auth/sign-in/email`, {
    method: "POST",
    headers: { "sec-fetch-site": "same-origin", "content-type": "application/json" },
    body: JSON.stringify(OPERATOR),
  });
  if (response.status !== 200) throw new Error(`the operator cannot sign in: ${await response.text()}`);
  return response.headers
    .getSetCookie()
    .map((line) => line.split(";", 1)[0])
    .join("; ");
}

async function openPayer(admin: Admin, credit: string): Promise<Payer> {
  const { id } = await ask<{ id: string }>(admin, ["account", "open", "builder", "a builder"]);
  await ask(admin, ["grant", id, "--usd", credit, "--reason", "to begin with"]);
  const key = await ask<{ id: string; secret: string }>(admin, ["key", "create", id, "a key"]);
  await ask(admin, ["key", "limits", key.id, ...WIDE]);
  return { account: uuidOf("acc", id), key: key.secret };
}

/** Returns the host's token. */
export async function openHost(admin: Admin): Promise<string> {
  const { id } = await ask<{ id: string }>(admin, ["account", "open", "host", "a host"]);
  return (await ask<{ secret: string }>(admin, ["host-token", "create", id, "a token"])).secret;
}
