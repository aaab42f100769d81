/**
 * The users of the stage: builders with much and with little credit, a host and an operator, created with admin
 * commands.
 */

import type { LoadTestAccounts, PayingAccount } from "@tollgate/stage/load/load.ts";
import { parsePublicUuid } from "../uuid-of-public-id.ts";
import { type RunAdmin, runAdminJson } from "./admin-commands.ts";

const RICH = 2;
const POOR = 2;
/** Credit in dollars. A request of an account with little credit holds about two microdollars. */
const CREDIT = { rich: "900", poor: "0.0001" };
const OPERATOR = { email: "operator@chaos.example", password: "a password that only this run knows" };
/** Rate limits far above the load, because they are not tested here. */
const WIDE = ["--requests-per-minute", "1000000", "--tokens-per-minute", "100000000", "--in-flight", "10000"];

type People = Omit<LoadTestAccounts, "port" | "operatorCookie">;

export async function openAccounts(admin: RunAdmin): Promise<People> {
  const payers = (count: number, credit: string): Promise<PayingAccount[]> =>
    Promise.all(Array.from({ length: count }, () => openPayer(admin, credit)));
  const [rich, poor, hostToken] = await Promise.all([
    payers(RICH, CREDIT.rich),
    payers(POOR, CREDIT.poor),
    createHostAccount(admin),
    createOperator(admin),
  ]);
  return { rich, poor, hostToken };
}

/** Creates the operator that `signIn` signs in. */
export async function createOperator(admin: RunAdmin): Promise<void> {
  await runAdminJson(admin, ["operator", "create", "--email", OPERATOR.email, "--password", "-"], OPERATOR.password);
}

/** Signs in as the operator, and returns the session's cookie. */
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

async function openPayer(admin: RunAdmin, credit: string): Promise<PayingAccount> {
  const { id } = await runAdminJson<{ id: string }>(admin, ["account", "open", "builder", "a builder"]);
  await runAdminJson(admin, ["grant", id, "--usd", credit, "--reason", "to begin with"]);
  const key = await runAdminJson<{ id: string; secret: string }>(admin, ["key", "create", id, "a key"]);
  await runAdminJson(admin, ["key", "limits", key.id, ...WIDE]);
  return { account: parsePublicUuid("acc", id), key: key.secret };
}

/** Creates the host, and returns its token. */
export async function createHostAccount(admin: RunAdmin): Promise<string> {
  const { id } = await runAdminJson<{ id: string }>(admin, ["account", "open", "host", "a host"]);
  return (await runAdminJson<{ secret: string }>(admin, ["host-token", "create", id, "a token"])).secret;
}
