/**
 * Tests notifications from event to delivery: two gateways on one database, receivers on this machine, and a manual
 * clock.
 */
import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, describe, test } from "node:test";
import { openAccounts } from "../accounts/accounts.ts";
import type { Email } from "../accounts/mail-sender.ts";
import { newIds, publicId, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { manualClock } from "../base/testing.ts";
import { DAY_MS, MINUTE_MS } from "../base/time.ts";
import { inTransaction } from "../db/pool.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import type { ShownDelivery } from "./deliveries.ts";
import { openEventFinder } from "./event-finder.ts";
import { openInbox } from "./inbox.ts";
import { openNotificationSettings } from "./notification-settings.ts";
import { createWebhookPoster } from "./post-webhook.ts";
import { openTestNotifications } from "./testing-notifications.ts";
import { createAddressRule } from "./webhook-addresses.ts";
import { signWebhookBody } from "./webhook-payloads.ts";

const clock = manualClock(Date.now());
const newId = newIds(clock, systemRandom());
const log = createLog("silent");
const LOW = {
  kind: "low_credit",
  data: { balance_micro: "1000000.000000", threshold_micro: "5000000.000000" },
} as const;

interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

let db: TestDatabase;
let gateways: ReturnType<typeof openTestNotifications>[];
let received: Received[] = [];
let answer = 200;
let receiver: string;
const mailed: Email[] = [];
const server = createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  received.push({ path: request.url ?? "", headers: request.headers, body });
  response.writeHead(answer).end();
});
before(async () => {
  db = await openTestDatabase();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  receiver = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const post = createWebhookPoster({ allows: createAddressRule({ allowLoopback: true }), allowsHttp: true, clock });
  const mail = { delivers: true, send: async (letter: Email) => void mailed.push(letter) };
  gateways = [0, 1].map(() => openTestNotifications({ pool: db.pool, clock, newId, log, mail, post }));
});
after(async () => {
  server.closeAllConnections();
  server.close();
  await db.close();
});
beforeEach(async () => {
  received = [];
  answer = 200;
  mailed.length = 0;
  await db.pool.query("delete from notification");
});

const EXPIRING = { key_id: "key_1", key_name: "web", expires_at: Date.UTC(2026, 10, 15, 23, 30) / 1000 };

const first = () => gateways[0] as ReturnType<typeof openTestNotifications>;
const settings = () => openNotificationSettings({ pool: db.pool, random: systemRandom() });
/** Both gateways check and send three times concurrently. */
const send = () => Promise.all([...gateways, ...gateways, ...gateways].map(({ deliverer }) => deliverer.send()));
const logOf = (accountId: Uuid): Promise<ShownDelivery[]> => first().deliveries.log(accountId);

async function account(kind: "builder" | "host" = "builder", owners = 1): Promise<Uuid> {
  const id = await openAccounts({ pool: db.pool, newId }).open(kind, "Acme");
  for (let n = 0; n < owners; n++) {
    await db.pool.query(
      `with person as (insert into identity (id, email, name, email_verified) values ($1, $2, 'A', true) returning id)
       insert into account_owner (account_id, identity_id) select $3, id from person`,
      [newId(), `owner-${newId()}@example.test`, id],
    );
  }
  return id;
}

async function withWebhook(): Promise<{ id: Uuid; secret: string }> {
  const id = await account("builder", 0);
  const secret = await settings().change(id, { choices: [], webhookUrl: `${receiver}/hook` });
  assert.ok(secret !== null);
  return { id, secret };
}

describe("a notification event", () => {
  test("is recorded once, in the transaction that causes it", async () => {
    const id = await account();
    const event = { ...LOW, accountId: id, about: "1" };
    const undone = inTransaction(db.pool, async (client) => {
      await first().notify(client, event);
      throw new Error("rolled back");
    });
    await assert.rejects(undone, /rolled back/);
    await send();
    assert.equal(mailed.length, 0);
    const told = await Promise.all(gateways.map(({ notify }) => notify(db.pool, event)));
    assert.deepEqual(told.toSorted(), [false, true]);
    await send();
    assert.equal(mailed.length, 1);
  });

  test("is sent to every owner and every configured address, unless its kind is turned off", async () => {
    const id = await account("builder", 2);
    const choices = [{ kind: "low_credit", channel: "email", on: false } as const];
    await settings().change(id, { choices, webhookUrl: `${receiver}/hook`, slackUrl: `${receiver}/slack` });
    await first().notify(db.pool, { ...LOW, accountId: id, about: "1" });
    const failed = { kind: "top_up_failed", data: { amount_micro: "1.000000", failure: "declined" } } as const;
    await first().notify(db.pool, { ...failed, accountId: id, about: "1" });
    await send();
    assert.deepEqual(received.map(({ path }) => path).sort(), ["/hook", "/hook", "/slack", "/slack"]);
    assert.deepEqual(
      mailed.map(({ subject }) => subject),
      ["Tollgate: automatic top-up was turned off", "Tollgate: automatic top-up was turned off"],
    );
  });
});

describe("a notification email", () => {
  test("formats amounts and times in its reader's locale, by default en-US and UTC", async () => {
    const id = await account("builder", 2);
    await db.pool.query(
      `update identity set locale = 'de-DE', time_zone = 'Europe/Berlin'
        where id = (select identity_id from account_owner where account_id = $1 limit 1)`,
      [id],
    );
    const low = { balance_micro: "1234560000.000000", threshold_micro: "2000000000.000000" };
    await first().notify(db.pool, { kind: "low_credit", data: low, accountId: id, about: "1" });
    await first().notify(db.pool, { kind: "key_expiring", data: EXPIRING, accountId: id, about: "1" });
    await send();
    const texts = mailed.map(({ text }) =>
      /is (\$[\d.,]+), below|expires on (.+)\. From/.exec(text)?.slice(1).find(Boolean),
    );
    assert.deepEqual(texts.toSorted(), [
      "$1,234.56",
      "$1.234,56",
      "16. Nov. 2026, 00:30 MEZ",
      "Nov 15, 2026, 23:30 UTC",
    ]);
  });
});

describe("a notification webhook", () => {
  test("is signed over its time and body with the account's current secret", async () => {
    const { id, secret } = await withWebhook();
    await first().notify(db.pool, { ...LOW, accountId: id, about: "1" });
    await send();
    const [{ headers, body }] = received as [Received];
    const unixSeconds = Math.floor(clock.now() / 1000);
    assert.equal(headers["tollgate-signature"], signWebhookBody(body, { secret, unixSeconds }));
    assert.equal(JSON.parse(body).account_id, publicId("acc", id));
    const next = await settings().replaceSecret(id);
    await first().notify(db.pool, { ...LOW, accountId: id, about: "2" });
    await send();
    const again = received[1] as Received;
    assert.equal(
      again.headers["tollgate-signature"],
      signWebhookBody(again.body, { secret: next as string, unixSeconds }),
    );
  });

  test("is sent by one of two gateways, and by the other if the first died", async () => {
    const { id } = await withWebhook();
    for (let n = 0; n < 30; n++) await first().notify(db.pool, { ...LOW, accountId: id, about: String(n) });
    // The first gateway claims the delivery and dies.
    assert.ok((await first().deliveries.take(["webhook"])).length > 0);
    await send();
    assert.ok(received.length < 30);
    clock.advance(2 * MINUTE_MS);
    await send();
    assert.equal(received.length, 30);
    assert.equal(new Set(received.map(({ body }) => JSON.parse(body).id)).size, 30);
  });

  test("is retried until the receiver accepts it, and each attempt is logged", async () => {
    const { id } = await withWebhook();
    answer = 503;
    await first().notify(db.pool, { ...LOW, accountId: id, about: "1" });
    await send();
    await send();
    assert.equal(received.length, 1, "not before its time");
    const [pending] = await logOf(id);
    assert.deepEqual([pending?.state, pending?.attempts, pending?.answerStatus], ["pending", 1, 503]);
    assert.equal(pending?.nextAt?.getTime(), clock.now() + 30_000);
    clock.advance(30_000);
    answer = 204;
    await send();
    const [done] = await logOf(id);
    assert.deepEqual([done?.state, done?.attempts, done?.answerStatus, done?.nextAt], ["delivered", 2, 204, null]);
  });

  test("is abandoned after a day or when its address is removed, and does not follow redirects", async () => {
    const { id } = await withWebhook();
    answer = 302;
    await first().notify(db.pool, { ...LOW, accountId: id, about: "1" });
    for (let hours = 0; hours < 26; hours++) {
      await send();
      clock.advance(60 * MINUTE_MS);
    }
    const [given] = await logOf(id);
    assert.deepEqual([given?.state, given?.answerStatus], ["failed", 302]);
    const tries = received.length;
    await send();
    assert.equal(received.length, tries);
    await first().notify(db.pool, { ...LOW, accountId: id, about: "2" });
    await settings().change(id, { choices: [], webhookUrl: null });
    await send();
    const [removed] = await logOf(id);
    assert.deepEqual([removed?.state, removed?.problem], ["failed", "the webhook address was removed"]);
  });

  test("is never sent to a private address, even if its hostname was public at first", async () => {
    const { id } = await withWebhook();
    const post = createWebhookPoster({
      allows: createAddressRule({ allowLoopback: false }),
      allowsHttp: true,
      clock,
      lookUp: (_host, _options, done) => done(null, [{ address: "127.0.0.1", family: 4 }]),
    });
    await settings().change(id, {
      choices: [],
      webhookUrl: `${receiver.replace("127.0.0.1", "hooks.example.com")}/hook`,
    });
    await first().notify(db.pool, { ...LOW, accountId: id, about: "1" });
    await openTestNotifications({ pool: db.pool, clock, newId, log, mail: undefined, post }).deliverer.send();
    assert.equal(received.length, 0);
    const [refused] = await logOf(id);
    assert.deepEqual([refused?.state, refused?.problem], ["pending", "The address is not on the public internet."]);
  });

  test("does not delay other accounts if one account's receiver never answers", async () => {
    const [slow, quick] = [await withWebhook(), await withWebhook()];
    for (let n = 0; n < 40; n++) await first().notify(db.pool, { ...LOW, accountId: slow.id, about: String(n) });
    await first().notify(db.pool, { ...LOW, accountId: quick.id, about: "1" });
    const taken = await first().deliveries.take(["webhook"]);
    assert.equal(taken.filter(({ accountId }) => accountId === slow.id).length, 4);
    assert.equal(taken.filter(({ accountId }) => accountId === quick.id).length, 1);
  });
});

test("an operator sees the details of a failed email, and the account does not", async () => {
  const id = await account();
  const mail = {
    delivers: true,
    send: async () => {
      throw new Error("connect ECONNREFUSED 10.0.0.5:25");
    },
  };
  const { notify, deliverer } = openTestNotifications({ pool: db.pool, clock, newId, log, mail });
  await notify(db.pool, { ...LOW, accountId: id, about: "1" });
  await deliverer.send();
  assert.equal((await logOf(id))[0]?.problem, "the mail server did not accept the email");
});

test("emails wait on a platform without a mail server, and are given up after three days", async () => {
  const id = await account();
  const { notify, deliverer, deliveries } = openTestNotifications({
    pool: db.pool,
    clock,
    newId,
    log,
    mail: undefined,
  });
  await notify(db.pool, { ...LOW, accountId: id, about: "1" });
  await deliverer.send();
  assert.deepEqual([(await logOf(id))[0]?.state, (await logOf(id))[0]?.attempts], ["pending", 0]);
  clock.advance(3 * DAY_MS + MINUTE_MS);
  await deliveries.prune();
  assert.equal((await logOf(id))[0]?.state, "failed");
  clock.advance(90 * DAY_MS);
  await deliveries.prune();
  assert.deepEqual(await logOf(id), []);
});

describe("events in other parts of the gateway", () => {
  const find = () =>
    Promise.all(gateways.map(({ notify }) => openEventFinder({ pool: db.pool, clock, notify }).find()));
  const told = async (accountId: Uuid): Promise<{ kind: string; data: unknown }[]> => {
    const rows = await openInbox({ pool: db.pool }).list({ accountId, identityId: newId() }, { limit: 10 });
    return rows.map(({ fact }) => fact);
  };
  before(async () => {
    // Moves the migration's date back, because the test's clock is ahead of the database's, which dates the rows below.
    await db.pool.query("update migration set applied_at = now() - interval '30 days' where version = 48");
    clock.advance(-clock.now() + Date.now());
  });

  test("notify the host once of each quarantine and each payout", async () => {
    const id = await account("host");
    const node = newId();
    await db.pool.query("insert into node (id, account_id, name, state) values ($1, $2, 'rig', 'quarantined')", [
      node,
      id,
    ]);
    await db.pool.query(
      "insert into node_quarantine (id, node_id, reason, by) values ($1, $2, 'wrong answers', 'platform')",
      [newId(), node],
    );
    const batch = newId();
    await db.pool.query(
      "insert into payout_batch (id, note, created_by, paid_at, paid_by) values ($1, '', 'o', now(), 'o')",
      [batch],
    );
    await db.pool.query("insert into payout (id, batch_id, account_id, amount) values ($1, $2, $3, 12340000000000)", [
      newId(),
      batch,
      id,
    ]);
    await find();
    await find();
    assert.deepEqual(
      (await told(id)).sort((a, b) => a.kind.localeCompare(b.kind)),
      [
        {
          kind: "node_quarantined",
          data: { node_id: publicId("node", node), node_name: "rig", reason: "wrong answers" },
        },
        { kind: "payout_sent", data: { payout_id: publicId("pay", batch), amount_micro: "12340000.000000" } },
      ],
    );
  });

  test("notify the builder of a key's spent budget once per day or month, and of a key in its last week", async () => {
    const id = await account();
    const key = newId();
    await db.pool.query(
      `insert into api_key (id, account_id, name, reference, secret_hash, budget_day_pico, budget_month_pico, created_at, expires_at)
       values ($1, $2, 'web', 'reference001', decode(repeat('00', 32), 'hex'), 5000000000000, 90000000000000,
               now() - interval '60 days', now() + interval '6 days')`,
      [key, id],
    );
    const { rows } = await db.pool.query(
      `insert into unfunded_hour (account_id, hour, key_id, reason, requests)
       select $1, date_trunc('day', now()) + n * interval '1 minute', $2, reason, 3
         from generate_series(0, 2) n, unnest(array['budget_day', 'budget_month', 'hold']) reason
       returning to_char(hour at time zone 'UTC', 'YYYY-MM-DD') as day`,
      [id, key],
    );
    const day = rows[0].day as string;
    await find();
    await find();
    const found = await told(id);
    const budget = (period: string, date: string, budget_micro: string) => ({
      kind: "budget_reached",
      data: { key_id: publicId("key", key), key_name: "web", period, date, budget_micro },
    });
    assert.deepEqual(
      found
        .filter(({ kind }) => kind === "budget_reached")
        .sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
      [budget("day", day, "5000000.000000"), budget("month", day.slice(0, 7), "90000000.000000")],
    );
    assert.equal(found.filter(({ kind }) => kind === "key_expiring").length, 1);
    assert.equal(found.length, 3);
  });

  test("cause no notification if they predate the feature; a new short-lived key causes one only near its expiry", async () => {
    await db.pool.query("update migration set applied_at = now() - interval '1 day' where version = 48");
    const id = await account("host");
    const node = newId();
    await db.pool.query("insert into node (id, account_id, name, state) values ($1, $2, 'rig', 'quarantined')", [
      node,
      id,
    ]);
    await db.pool.query(
      `insert into node_quarantine (id, node_id, reason, by, at)
       values ($1, $2, 'old', 'platform', now() - interval '2 days')`,
      [newId(), node],
    );
    const builder = await account();
    await db.pool.query(
      `insert into api_key (id, account_id, name, reference, secret_hash, expires_at)
       values ($1, $2, 'short', 'reference002', decode(repeat('00', 32), 'hex'), now() + interval '2 days')`,
      [newId(), builder],
    );
    await find();
    assert.deepEqual([await told(id), await told(builder)], [[], []]);
    clock.advance(1.6 * DAY_MS);
    await find();
    assert.deepEqual(
      (await told(builder)).map(({ kind }) => kind),
      ["key_expiring"],
    );
  });
});

test("the account shares one list of notifications, and each person has their own read marks", async () => {
  const id = await account("builder", 2);
  const { rows } = await db.pool.query("select identity_id from account_owner where account_id = $1 order by 1", [id]);
  const [a, b] = rows.map(({ identity_id }) => ({ accountId: id, identityId: identity_id as Uuid })) as [
    Reader,
    Reader,
  ];
  const inbox = openInbox({ pool: db.pool });
  for (const about of ["1", "2", "3"]) await first().notify(db.pool, { ...LOW, accountId: id, about });
  assert.equal(await inbox.unread(a), 3);
  const newest = (await inbox.list(a, { limit: 2 }))[0];
  await inbox.read(a, [newest?.id as Uuid]);
  assert.deepEqual([await inbox.unread(a), await inbox.unread(b)], [2, 3]);
  await inbox.read(a, undefined);
  await inbox.read(a, undefined);
  assert.deepEqual([await inbox.unread(a), await inbox.unread(b)], [0, 3]);
  const other = await account();
  assert.deepEqual(await inbox.list({ ...a, accountId: other }, { limit: 10 }), []);
  const [choice] = [{ kind: "low_credit", channel: "console", on: false } as const];
  await settings().change(id, { choices: [choice] });
  await first().notify(db.pool, { ...LOW, accountId: id, about: "4" });
  assert.equal(await inbox.unread(a), 0, "turned off in the console");
});

interface Reader {
  accountId: Uuid;
  identityId: Uuid;
}
