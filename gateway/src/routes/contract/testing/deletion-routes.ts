/** For tests: exports and deletes accounts and persons, and causes every error that prevents a deletion. */
import { computeAuthenticatorCode } from "../../../accounts/testing/authenticator-codes.ts";
import { publicId, type Uuid } from "../../../base/ids.ts";
import { dollars, pico } from "../../../base/money.ts";
import { PASSWORD } from "../../testing/browser.ts";
import { signInTestPerson } from "../../testing/sign-in-test-person.ts";
import type { ContractFixture } from "./contract-fixture.ts";
import type { Coverage } from "./route-coverage.ts";

export async function callDeletionRoutes({ platform, people }: ContractFixture, { ask }: Coverage): Promise<void> {
  const { pool, ledger, newId } = platform;
  const who = await signInTestPerson(platform, [{ kind: "builder" }]);
  const { browser, email } = who;
  const [accountId] = who.accountIds as [Uuid];
  const id = publicId("acc", accountId);
  const remove = (status: number, more: object = {}) =>
    ask(browser, status, "deleteAccount", { id, body: { name: "A builder", ...more } });
  const leave = (status: number, more: object = {}) =>
    ask(browser, status, "deletePerson", { body: { email, ...more } });
  for (const read of ["exportAccount", "getDeletion"]) await ask(browser, 200, read, { id });
  await ask(browser, 200, "exportPerson");
  const viewer = await signInTestPerson(platform);
  await pool.query("insert into account_member (account_id, identity_id, role) values ($1, $2, 'viewer')", [
    accountId,
    viewer.identityId,
  ]);
  for (const own of ["exportAccount", "getDeletion", "deleteAccount"]) {
    await ask(viewer.browser, 403, own, { id, body: { name: "A builder" } });
  }
  await remove(400, { name: "Another" });
  await leave(400, { email: "other@example.test" });

  const hold = newId();
  await ledger.hold({
    ...{
      id: hold,
      accountId,
      amount: pico(1n),
      keyId: accountId,
      keyName: "a key",
      endpoint: "chat",
      model: "tiny-3b",
    },
    ...{ build: "b", tokenizer: "t", stream: false, promptTokens: 1, priceVersion: 1, client: "" },
  });
  await remove(409);
  await ledger.void(hold);
  const debt = { id: newId(), kind: "dispute", accountId, amount: dollars(6), reason: "a test" } as const;
  await ledger.transfer(debt);
  await remove(409);
  await leave(409);
  const other = await signInTestPerson(platform);
  await platform.identities.own(other.identityId, accountId);
  await leave(409);
  await ledger.transfer({ ...debt, id: newId(), kind: "grant", amount: dollars(1) });

  const { secret } = (await ask(browser, 200, "enableTwoFactor", { body: { password: PASSWORD } })).body;
  await ask(browser, 200, "confirmTwoFactor", { body: { code: computeAuthenticatorCode(String(secret)) } });
  await remove(400, { code: "000000" });
  await remove(200, { code: computeAuthenticatorCode(String(secret), 1) });
  for (let i = 0; i < 10; i++) {
    await browser.send("POST", "/console/api/me/delete", { body: { email, code: "000000" } });
  }
  const second = await signInTestPerson(platform, [{ kind: "builder" }]);
  await pool.query("update account_owner set identity_id = $1 where identity_id = $2", [
    who.identityId,
    second.identityId,
  ]);
  const theirs = publicId("acc", second.accountIds[0] as Uuid);
  await ask(browser, 429, "deleteAccount", { id: theirs, body: { name: "A builder", code: "000000" } });
  await leave(429, { code: "000000" });
  await ask(other.browser, 200, "deletePerson", { body: { email: other.email } });

  const { operator } = people;
  await pool.query("update identity set operator = id = $1", [operator.identityId]);
  await ask(operator.browser, 409, "deletePerson", { body: { email: operator.email } });
  for (const act of ["suspendAccount", "restoreAccount"]) {
    await ask(operator.browser, 409, act, { id, body: { reason: "a test" } });
  }
  await ask(operator.browser, 409, "grantCredit", { id, body: { amount_micro: "1", reason: "a test" } });
}
