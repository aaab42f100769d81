import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds, timeOf } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { openAccounts } from "./accounts.ts";
import { AUTH_PATH, CLIENT_ADDRESS_HEADER, type Identities, IdentityError, openIdentities } from "./identities.ts";

const newId = newIds(systemClock, systemRandom());
const PASSWORD = "correct horse battery";
const secret = "a secret of tests, 32 characters or more";

let database: TestDatabase;
let identities: Identities;

const open = (more: { secret?: string; publicUrl?: string } = {}): Promise<Identities> =>
  openIdentities({
    pool: database.pool,
    newId,
    log: createLog("silent"),
    secret: more.secret ?? secret,
    publicUrl: more.publicUrl,
  });

before(async () => {
  database = await openTestDatabase();
  identities = await open();
});
after(() => database.close());

const make = (email: string, operator = false) =>
  identities.create({ email, password: PASSWORD, name: "A person", operator });

let callers = 0;
function post(at: Identities, path: string, body: object): Promise<Response> {
  const headers = { "content-type": "application/json", [CLIENT_ADDRESS_HEADER]: `10.1.0.${++callers}` };
  return at.handle(
    new Request(`http://localhost${AUTH_PATH}${path}`, { method: "POST", headers, body: JSON.stringify(body) }),
  );
}

async function signIn(at: Identities, email: string): Promise<Headers> {
  const response = await post(at, "/sign-in/email", { email, password: PASSWORD });
  assert.equal(response.status, 200, await response.clone().text());
  const cookie = response.headers.getSetCookie().map((line) => line.split(";")[0]);
  return new Headers({ cookie: cookie.join("; ") });
}

test("an identity that was made can sign in, by its e-mail in any case", async () => {
  const id = await make("Mixed.Case@example.test", true);
  const headers = await signIn(identities, "mixed.CASE@example.test");
  assert.deepEqual(await identities.session(headers), {
    identityId: id,
    email: "mixed.case@example.test",
    name: "A person",
    operator: true,
  });
});

test("an e-mail address has one identity", async () => {
  await make("once@example.test");
  await assert.rejects(make("ONCE@example.test"), IdentityError);
});

test("a password that is too short or too long makes no identity", async () => {
  for (const password of ["1234567", "x".repeat(129)]) {
    const identity = { email: "weak@example.test", password, name: "A person", operator: false };
    await assert.rejects(identities.create(identity), IdentityError);
  }
  const { rows } = await database.pool.query("select id from identity where email = 'weak@example.test'");
  assert.deepEqual(rows, []);
});

test("nobody signs up as an operator", async () => {
  const body = { email: "sneaky@example.test", password: PASSWORD, name: "Sneaky", operator: true };
  const response = await post(identities, "/sign-up/email", body);
  assert.equal(response.status, 200);
  const { rows } = await database.pool.query("select operator from identity where email = 'sneaky@example.test'");
  assert.deepEqual(rows, [{ operator: false }]);
});

test("ids are ours: UUIDs that hold their time", async () => {
  const since = systemClock.now();
  await make("ids@example.test");
  await signIn(identities, "ids@example.test");
  const { rows } = await database.pool.query(
    `select i.id as identity, c.id as credential, s.id as session from identity i
       join identity_credential c on c.identity_id = i.id join identity_session s on s.identity_id = i.id
      where i.email = 'ids@example.test'`,
  );
  for (const id of Object.values(rows[0])) assert.ok(Math.abs(timeOf(id as never) - since) < 60_000, String(id));
});

test("no table holds a password in clear", async () => {
  await make("clear@example.test");
  await post(identities, "/sign-up/email", { email: "clear2@example.test", password: PASSWORD, name: "Clear" });
  await signIn(identities, "clear@example.test");
  for (const table of ["identity", "identity_credential", "identity_session", "identity_verification"]) {
    const { rows } = await database.pool.query(`select t::text as row from ${table} t`);
    for (const { row } of rows) assert.ok(!row.includes(PASSWORD), table);
  }
  const { rows } = await database.pool.query("select password_hash from identity_credential");
  for (const { password_hash } of rows) assert.match(password_hash, /^[0-9a-f]{32}:[0-9a-f]{128}$/);
});

test("an expired session is none", async () => {
  const id = await make("expired@example.test");
  const headers = await signIn(identities, "expired@example.test");
  await database.pool.query("update identity_session set expires_at = now() - interval '1 s' where identity_id = $1", [
    id,
  ]);
  assert.equal(await identities.session(headers), undefined);
});

test("a cookie signed under another secret is no session", async () => {
  await make("secret@example.test");
  const headers = await signIn(identities, "secret@example.test");
  const other = await open({ secret: "another secret of tests, also long enough" });
  assert.equal(await other.session(headers), undefined);
  assert.notEqual(await identities.session(headers), undefined);
});

test("the session's cookie is out of scripts' and other sites' reach, and Secure behind TLS", async () => {
  await make("cookie@example.test");
  for (const [publicUrl, isSecure] of [
    ["https://gate.test", true],
    ["http://gate.test", false],
    [undefined, false],
  ] as const) {
    const at = await open(publicUrl === undefined ? {} : { publicUrl });
    const response = await post(at, "/sign-in/email", { email: "cookie@example.test", password: PASSWORD });
    const cookie = response.headers.getSetCookie().find((line) => line.includes("session_token"));
    assert.match(cookie ?? "", /HttpOnly/);
    assert.match(cookie ?? "", /SameSite=Lax/);
    assert.match(cookie ?? "", /Path=\/console(;|$)/);
    assert.equal(/; Secure/.test(cookie ?? ""), isSecure, publicUrl);
  }
});

test("an identity owns accounts, oldest first, each once", async () => {
  const accounts = openAccounts({ pool: database.pool, newId });
  const id = await make("owner@example.test");
  assert.deepEqual(await identities.accountsOf(id), []);
  const builder = await accounts.open("builder", "Work");
  const host = await accounts.open("host", "Farm");
  await identities.own(id, host);
  await identities.own(id, builder);
  await identities.own(id, builder);
  await database.pool.query("update account set suspended_at = now() where id = $1", [host]);
  assert.deepEqual(await identities.accountsOf(id), [
    { id: builder, kind: "builder", name: "Work", suspended: false },
    { id: host, kind: "host", name: "Farm", suspended: true },
  ]);
});
