/** Sets up accounts through the console's API, for browser suites that test other pages. */
import type { ConsoleClient } from "../console-client.ts";

/** Returns the newest builder account with this name, from the operator's list. */
export async function findAccount(operator: ConsoleClient, name: string): Promise<{ id: string }> {
  const { data } = await operator.get<{ data: { id: string; name: string }[] }>("operator/accounts?kind=builder");
  const account = data.find((one) => one.name === name);
  if (account === undefined) throw new Error(`there is no builder account ${name}`);
  return account;
}

/** Grants the account credit as an operator. */
export async function grantCreditAsOperator(
  operator: ConsoleClient,
  accountName: string,
  dollars: number,
): Promise<void> {
  const { id } = await findAccount(operator, accountName);
  await operator.send("POST", `operator/accounts/${id}/grant`, {
    amount_micro: String(dollars * 1_000_000),
    reason: "a journey of the console",
  });
}
