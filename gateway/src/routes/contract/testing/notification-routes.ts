/** For tests: calls all operations on notifications, and causes their errors. */
import assert from "node:assert/strict";
import type { Uuid } from "../../../base/ids.ts";
import { signInTestPerson } from "../../testing/sign-in-test-person.ts";
import type { ContractFixture } from "./contract-fixture.ts";
import type { Coverage } from "./route-coverage.ts";

export async function callNotificationRoutes({ platform }: ContractFixture, { ask }: Coverage): Promise<void> {
  const { browser, accountIds } = await signInTestPerson(platform, [{ kind: "builder" }]);
  const accountId = accountIds[0] as Uuid;
  await ask(browser, 200, "getNotificationSettings");
  await ask(browser, 404, "replaceNotificationSecret");
  await ask(browser, 404, "testNotification", { body: { channel: "slack" } });
  for (const body of [
    { webhook_url: "http://hooks.example.com" },
    { webhook_url: "https://user:password@hooks.example.com" },
    { webhook_url: "https://10.1.2.3/hook" },
    { webhook_url: "https://[::ffff:127.0.0.1]/hook" },
    { webhook_url: "https://localhost/hook" },
    { webhook_url: "nonsense" },
    { slack_url: "https://169.254.169.254/latest" },
    { kinds: { no_such_kind: { email: true } } },
    { kinds: { low_credit: { email: "yes" } } },
  ]) {
    await ask(browser, 400, "setNotifications", { body });
  }
  const set = { kinds: { low_credit: { email: false } }, webhook_url: "https://hooks.example.com/a" };
  const { webhook_secret } = (await ask(browser, 200, "setNotifications", { body: set })).body;
  assert.match(String(webhook_secret), /^whsec_[0-9A-Za-z]{43}$/);
  const again = {
    ...set,
    webhook_url: "https://hooks.example.com/b",
    slack_url: "https://hooks.slack.com/services/T0/B0/secret",
  };
  const { webhook_secret: kept, slack_url } = (await ask(browser, 200, "setNotifications", { body: again })).body;
  assert.equal(kept, null, "another address keeps the secret, which is not shown again");
  assert.equal(slack_url, "https://hooks.slack.com/service…");
  const { webhook_secret: next } = (await ask(browser, 200, "replaceNotificationSecret")).body;
  assert.notEqual(next, webhook_secret);

  const { tell } = platform.parts.notifications;
  const data = { balance_micro: "4980000.000000", threshold_micro: "5000000.000000" };
  for (const about of ["1", "2"]) await tell({ accountId, kind: "low_credit", about, data });
  const first = (await ask(browser, 200, "listNotifications", { query: "limit=1" })).body;
  assert.equal(first.unread, 2);
  const [{ id, title }] = first.data as [{ id: string; title: string }];
  assert.equal(title, "Your balance is below $5.00");
  await ask(browser, 200, "listNotifications", { query: `cursor=${first.next_cursor}` });
  await ask(browser, 400, "listNotifications", { query: "cursor=nonsense" });
  await ask(browser, 400, "readNotifications", { body: { ids: ["nonsense"] } });
  assert.equal((await ask(browser, 200, "readNotifications", { body: { ids: [id] } })).body.unread, 1);
  assert.equal((await ask(browser, 200, "readNotifications", { body: {} })).body.unread, 0);

  for (let sent = 0; sent < 10; sent++) await ask(browser, 200, "testNotification", { body: { channel: "webhook" } });
  await ask(browser, 429, "testNotification", { body: { channel: "webhook" } });
  const { data: deliveries } = (await ask(browser, 200, "listDeliveries")).body;
  const sent = (deliveries as { kind: string; channel: string }[]).map(({ kind, channel }) => `${kind} ${channel}`);
  assert.equal(sent.filter((one) => one === "test webhook").length, 10);
  assert.deepEqual(
    sent.filter((one) => one.startsWith("low_credit")).sort(),
    ["low_credit slack", "low_credit slack", "low_credit webhook", "low_credit webhook"],
    "emails of this kind are turned off",
  );
}
