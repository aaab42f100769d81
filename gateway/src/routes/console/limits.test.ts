/**
 * The maximum numbers of keys, tokens, accounts and sessions, also under concurrent requests, and the pages of key and
 * token lists.
 */

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { ACCOUNTS_PER_IDENTITY_MAX } from "@tollgate/api/api-limits.ts";
import { parseId, type Uuid } from "../../base/ids.ts";
import { ACTIVE_SECRETS_MAX } from "../../keys/secret-store.ts";
import { Browser, type BrowserResponse } from "../testing/browser.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { assertRefused, type Person, signInTestPerson } from "../testing/sign-in-test-person.ts";

const API = "/console/api";
const AT_ONCE = 20;
const LEFT = 3;

let platform: TestPlatform;
before(async () => {
  platform = await openTestPlatform();
});
after(() => platform.close());

/** Inserts this number of secrets directly into the database. */
async function fill(table: "api_key" | "host_token", account: Uuid, count: number, revoked = false): Promise<void> {
  for (let i = 0; i < count; i++) {
    await platform.pool.query(
      `insert into ${table} (id, account_id, name, reference, secret_hash, revoked_at) values ($1, $2, $3, $4, $5, $6)`,
      [
        platform.newId(),
        account,
        `number ${i}`,
        randomUUID().replaceAll("-", "").slice(0, 12),
        randomBytes(32),
        revoked ? new Date() : null,
      ],
    );
  }
}

const statuses = (answers: BrowserResponse[]): Record<number, number> => {
  const counted: Record<number, number> = {};
  for (const { status } of answers) counted[status] = (counted[status] ?? 0) + 1;
  return counted;
};

const many = (send: (i: number) => Promise<BrowserResponse>): Promise<BrowserResponse[]> =>
  Promise.all(Array.from({ length: AT_ONCE }, (_, i) => send(i)));

test("an expired API key does not count towards the key limit, and cannot be extended while the limit is reached", async () => {
  const { browser, accountIds } = await signInTestPerson(platform, [{ kind: "builder" }]);
  const [account] = accountIds as [Uuid];
  await fill("api_key", account, ACTIVE_SECRETS_MAX.api_key - 1);
  const create = (body: object) => browser.send("POST", `${API}/keys`, { body: { name: "new", ...body } });
  const ends = Math.floor(Date.now() / 1000) + 3600;
  const brief = await create({ expires_at: ends });
  assert.equal(brief.status, 201);
  assert.equal((await create({})).status, 409, "it counts until it ends");
  const later = { expires_at: ends + 3600 };
  const change = (body: object) => browser.send("PATCH", `${API}/keys/${brief.body.id}`, { body });
  assert.equal((await change(later)).status, 200, "while it works a later end takes no more room");
  await platform.pool.query("update api_key set expires_at = now() - interval '1 second' where id = $1", [
    parseId("key", String(brief.body.id)),
  ]);
  const successor = await create({});
  assert.equal(successor.status, 201);
  for (const body of [later, { expires_at: null }]) assertRefused(await change(body), 409, "limit_reached");
  assert.equal((await change({ name: "renamed" })).status, 200, "what leaves it expired is no matter of room");
  await browser.send("DELETE", `${API}/keys/${successor.body.id}`);
  assert.equal((await change(later)).status, 200);
  assert.equal((await create({})).status, 409);
});

for (const [table, path, kind, what] of [
  ["api_key", "keys", "builder", "API keys"],
  ["host_token", "host-tokens", "host", "host tokens"],
] as const) {
  const max = ACTIVE_SECRETS_MAX[table];
  test(`an account has at most ${max} active ${what}, even if many are created concurrently`, async () => {
    const { browser, accountIds } = await signInTestPerson(platform, [{ kind }]);
    const [account] = accountIds as [Uuid];
    await fill(table, account, max - LEFT);
    await fill(table, account, 2, true);
    const create = (i = 0) => browser.send("POST", `${API}/${path}`, { body: { name: `new ${i}` } });
    const answers = await many(create);
    assert.deepEqual(statuses(answers), { 201: LEFT, 409: AT_ONCE - LEFT });
    const refused = answers.find(({ status }) => status === 409) as BrowserResponse;
    assertRefused(refused, 409, "limit_reached");
    assert.match(String(refused.body.error?.message), new RegExp(`${max} ${what}`));
    const made = answers.find(({ status }) => status === 201) as BrowserResponse;
    await browser.send("DELETE", `${API}/${path}/${made.body.id}`);
    assert.equal((await create()).status, 201, "one that was revoked makes room");
    assert.equal((await create()).status, 409);
  });

  test(`${what} are listed in pages: active ones first, then revoked ones, each newest first`, async () => {
    const { browser, accountIds } = await signInTestPerson(platform, [{ kind }]);
    const [account] = accountIds as [Uuid];
    await fill(table, account, 30, true);
    await fill(table, account, 40);
    await fill(table, account, 30, true);
    type Row = { id: string; revoked_at: number | null };
    const rows: Row[] = [];
    let cursor: unknown;
    do {
      const more = cursor === undefined ? "" : `&cursor=${cursor}`;
      const { status, text, body } = await browser.send("GET", `${API}/${path}?limit=30${more}`);
      assert.equal(status, 200, text);
      assert.ok((body.data as Row[]).length <= 30);
      rows.push(...(body.data as Row[]));
      cursor = body.next_cursor;
    } while (cursor !== null);
    assert.equal(new Set(rows.map(({ id }) => id)).size, 100);
    assert.ok(rows.slice(0, 40).every(({ revoked_at }) => revoked_at === null));
    assert.ok(rows.slice(40).every(({ revoked_at }) => revoked_at !== null));
    for (const part of [rows.slice(0, 40), rows.slice(40)]) {
      const ids = part.map(({ id }) => id);
      assert.deepEqual(ids, ids.toSorted().reverse());
    }
    assert.equal(((await browser.send("GET", `${API}/${path}`)).body.data as Row[]).length, 50, "by default");
    assertRefused(await browser.send("GET", `${API}/${path}?cursor=abc`), 400, "invalid_cursor");
    assertRefused(await browser.send("GET", `${API}/${path}?limit=101`), 400, "limit");
  });
}

test(`an identity owns at most ${ACCOUNTS_PER_IDENTITY_MAX} accounts, even if many are opened concurrently`, async () => {
  const kinds = Array.from({ length: ACCOUNTS_PER_IDENTITY_MAX - LEFT }, () => ({ kind: "host" as const }));
  const { browser } = await signInTestPerson(platform, kinds);
  const answers = await many((i) =>
    browser.send("POST", `${API}/accounts`, { body: { kind: "builder", name: `new ${i}` } }),
  );
  assert.deepEqual(statuses(answers), { 201: LEFT, 409: AT_ONCE - LEFT });
  const refused = answers.find(({ status }) => status === 409) as BrowserResponse;
  assertRefused(refused, 409, "limit_reached");
  assert.match(String(refused.body.error?.message), new RegExp(`${ACCOUNTS_PER_IDENTITY_MAX} accounts`));
});

/** The limit in gateway/sql/functions/identity_sessions_are_bounded.sql. */
const SESSIONS_MAX = 100;

describe("the sessions of an identity", () => {
  const ofIdentity = async ({ identityId }: Person): Promise<string[]> => {
    const { rows } = await platform.pool.query(
      "select token from identity_session where identity_id = $1 order by created_at, id",
      [identityId],
    );
    return rows.map(({ token }) => token);
  };

  test(`an identity has at most ${SESSIONS_MAX} sessions: a new one ends the oldest, even if many begin concurrently`, async () => {
    const person = await signInTestPerson(platform);
    const others = await signInTestPerson(platform);
    for (let i = 0; i < SESSIONS_MAX - 3; i++) {
      await platform.pool.query(
        `insert into identity_session (id, identity_id, token, expires_at, created_at)
         values ($1, $2, $3, now() + interval '1 day', now() - make_interval(hours => $4))`,
        [platform.newId(), person.identityId, `made ${i}`, 200 - i],
      );
    }
    const browsers = Array.from({ length: 6 }, () => new Browser(platform));
    const answers = await Promise.all(browsers.map((browser) => browser.signIn(person.email)));
    assert.deepEqual(statuses(answers), { 200: 6 });
    const tokens = await ofIdentity(person);
    assert.equal(tokens.length, SESSIONS_MAX);
    assert.equal(tokens[0], "made 4", "the four oldest are over");
    for (const browser of [person.browser, ...browsers]) {
      assert.equal((await browser.send("GET", `${API}/me`)).status, 200, "the newest go on");
    }
    assert.equal((await ofIdentity(others)).length, 1);
  });
});

test("a usage query with more than 100,000 sums is refused with 400", async () => {
  const { browser, accountIds } = await signInTestPerson(platform, [{ kind: "builder" }]);
  const fillHours = (keys: number) =>
    platform.pool.query(
      `insert into usage_hour
       select $1, date_trunc('hour', now()) - make_interval(hours => h), gen_random_uuid(), 'tiny-3b', 'ok', 1, 1, 1, 1
         from generate_series(1, 700) h, generate_series(1, $2) k`,
      [accountIds[0], keys],
    );
  const from = new Date(Date.now() - 30 * 24 * 60 * 60 * 1000).toISOString();
  const ask = () => browser.send("GET", `${API}/usage?by=hour&split=key&from=${from}`);
  await fillHours(100);
  const { status, body } = await ask();
  assert.deepEqual([status, (body.data as object[]).length], [200, 70_000]);
  await fillHours(50);
  assertRefused(await ask(), 400, "from");
});
