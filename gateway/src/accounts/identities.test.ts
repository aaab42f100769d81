import assert from "node:assert/strict";
import { scryptSync } from "node:crypto";
import { after, before, test } from "node:test";
import { ACCOUNTS_PER_IDENTITY_MAX } from "@tollgate/api/api-limits.ts";
import { systemClock } from "../base/clock.ts";
import { creationTimeMsOf, newIds, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { openAccounts } from "./accounts.ts";
import { type Identities, type IdentitiesOptions, openIdentities } from "./identities.ts";
import { SignInRefusal } from "./sign-in-refusals.ts";
import { cheapPasswordHash } from "./testing/cheap-password-hash.ts";
import { insertSession } from "./testing/insert-session.ts";

const newId = newIds(systemClock, systemRandom());
const PASSWORD = "correct horse battery";
const secret = "a secret of tests, 32 characters or more";

let database: TestDatabase;
let identities: Identities;

const open = (more: Partial<IdentitiesOptions> = {}): Promise<Identities> =>
  openIdentities({
    pool: database.pool,
    newId,
    log: createLog("silent"),
    secret,
    publicUrl: undefined,
    passwordHash: cheapPasswordHash,
    ...more,
  });

before(async () => {
  database = await openTestDatabase();
  identities = await open();
});
after(() => database.close());

const make = (email: string, operator = false) =>
  identities.create({ email, password: PASSWORD, name: "A person", operator });

let callers = 0;
const caller = () => ({ cookie: undefined, address: `10.1.0.${++callers}`, userAgent: "test" });

async function signIn(at: Identities, email: string): Promise<{ cookies: string[]; headers: Headers }> {
  const { status, cookies } = await at.signIn.enter({ email, password: PASSWORD, remember: true }, caller());
  assert.equal(status, "signed_in");
  return { cookies, headers: new Headers({ cookie: cookies.map((line) => line.split(";")[0]).join("; ") }) };
}

test("a new identity can sign in with its email address in any case", async () => {
  const id = await make("Mixed.Case@example.test", true);
  const { headers } = await signIn(identities, "mixed.CASE@example.test");
  const { sessionId, ...who } = (await identities.session(headers)) ?? assert.fail("no session");
  assert.deepEqual(who, {
    identityId: id,
    email: "mixed.case@example.test",
    name: "A person",
    operator: true,
    emailVerified: true,
    twoFactor: false,
  });
  assert.deepEqual(
    (await identities.sessions.of(id)).map((session) => session.id),
    [sessionId],
  );
});

test("passwords are hashed at the full cost of scrypt, unless a test lowers it", async () => {
  const standard = await open({ passwordHash: undefined });
  const costOf = async (email: string): Promise<boolean> => {
    const { rows } = await database.pool.query(
      "select password_hash from identity_credential c join identity i on i.id = c.identity_id where email = $1",
      [email],
    );
    const [salt, key] = rows[0].password_hash.split(":");
    const cost = { N: 16384, r: 16, p: 1, maxmem: 64 * 1024 * 1024 };
    return scryptSync(PASSWORD, salt, 64, cost).toString("hex") === key;
  };
  await standard.create({ email: "made@example.test", password: PASSWORD, name: "Made", operator: false });
  assert.equal(await costOf("made@example.test"), true);
  const person = { email: "signed.up@example.test", password: PASSWORD, name: "Signed up", remember: true };
  await standard.signIn.signUp(person, caller());
  assert.equal(await costOf("signed.up@example.test"), true);
  for (const email of ["made@example.test", "signed.up@example.test"]) await signIn(standard, email);
  await make("cheap@example.test");
  assert.equal(await costOf("cheap@example.test"), false);
});

test("the test helper's session equals a session created by signing in", async () => {
  const identityId = await make("inserted@example.test");
  const { name, value } = await insertSession({ pool: database.pool, newId, secret }, { identityId });
  const signedIn = await signIn(identities, "inserted@example.test");
  assert.equal(signedIn.cookies.find((line) => line.startsWith(`${name}=`))?.split("=")[0], name);
  const [inserted, entered] = [
    await identities.session(new Headers({ cookie: `${name}=${value}` })),
    await identities.session(signedIn.headers),
  ];
  assert.notEqual(inserted?.sessionId, entered?.sessionId);
  assert.deepEqual({ ...inserted, sessionId: "" }, { ...entered, sessionId: "" });
  const forged = await insertSession({ pool: database.pool, newId, secret: `${secret}!` }, { identityId });
  assert.equal(await identities.session(new Headers({ cookie: `${forged.name}=${forged.value}` })), undefined);
});

for (const days of [-8, 8]) {
  test(`sessions expire by the database's clock if the gateway's clock is off by ${days} days`, async () => {
    // The sign-in library and the database run on one machine with one clock, so the test shifts the times in the
    // tables instead.
    const aheadMs = -days * 86_400_000;
    const off = await open({ databaseAheadMs: () => aheadMs });
    const identityId = await make(`off.by.${days}@example.test`);
    const { headers } = await signIn(off, `off.by.${days}@example.test`);
    const left = async (): Promise<number> => {
      const { rows } = await database.pool.query(
        `select extract(epoch from expires_at - now() - $2 * interval '1 ms')::float8 / 3600 as hours
           from identity_session where identity_id = $1`,
        [identityId, aheadMs],
      );
      return Math.round(rows[0].hours);
    };
    assert.equal(await left(), 7 * 24, "a week, by the database's clock");
    assert.equal((await off.session(headers))?.identityId, identityId);
    await database.pool.query(
      "update identity_session set expires_at = expires_at - interval '169 hours' where identity_id = $1",
      [identityId],
    );
    assert.equal(await off.session(headers), undefined);
  });
}

test("signing up never creates an operator", async () => {
  const person = { email: "sneaky@example.test", password: PASSWORD, name: "Sneaky", remember: true, operator: true };
  const { status } = await identities.signIn.signUp(person, caller());
  assert.equal(status, "signed_in");
  const { rows } = await database.pool.query("select operator from identity where email = 'sneaky@example.test'");
  assert.deepEqual(rows, [{ operator: false }]);
});

test("one of two concurrent sign-ups with the same address is refused as taken", async () => {
  const person = { email: "race@example.test", password: PASSWORD, name: "Racer", remember: true };
  const results = await Promise.allSettled([1, 2, 3].map(() => identities.signIn.signUp(person, caller())));
  const refused = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
  assert.equal(refused.length, 2);
  for (const error of refused)
    assert.ok(error instanceof SignInRefusal && error.reason === "email_taken", String(error));
});

test("the ID of an identity is a UUID that contains its creation time", async () => {
  const since = systemClock.now();
  await make("ids@example.test");
  await signIn(identities, "ids@example.test");
  const { rows } = await database.pool.query(
    `select i.id as identity, c.id as credential, s.id as session from identity i
       join identity_credential c on c.identity_id = i.id join identity_session s on s.identity_id = i.id
      where i.email = 'ids@example.test'`,
  );
  const until = systemClock.now();
  for (const id of Object.values(rows[0])) {
    const made = creationTimeMsOf(id as Uuid);
    assert.ok(made >= since && made <= until, String(id));
  }
});

test("an expired session is refused, and a sweep deletes it with other expired rows", async () => {
  const id = await make("expired@example.test");
  const { headers } = await signIn(identities, "expired@example.test");
  const kept = await make("kept@example.test");
  await signIn(identities, "kept@example.test");
  await database.pool.query("update identity_session set expires_at = now() - interval '1 s' where identity_id = $1", [
    id,
  ]);
  await database.pool.query(
    `insert into identity_verification (id, identifier, value, expires_at)
     values ($1, 'old', 'x', now() - interval '1 s'), ($2, 'new', 'x', now() + interval '1 h')`,
    [newId(), newId()],
  );
  assert.equal(await identities.session(headers), undefined);
  assert.deepEqual(await identities.sessions.of(id), []);
  await identities.sweep();
  const left = await database.pool.query("select from identity_session where identity_id = $1", [id]);
  assert.equal(left.rowCount, 0);
  assert.equal((await identities.sessions.of(kept)).length, 1);
  const { rows } = await database.pool.query("select identifier from identity_verification");
  assert.deepEqual(rows, [{ identifier: "new" }]);
});

test("concurrent requests with the same session share one query, and a later request queries again", async (t) => {
  const identityId = await make("at.once@example.test");
  const { headers } = await signIn(identities, "at.once@example.test");
  const looks = t.mock.method(database.pool, "connect").mock;
  await identities.session(headers);
  const ofOne = looks.callCount();
  const found = await Promise.all(Array.from({ length: 6 }, () => identities.session(headers)));
  assert.deepEqual(new Set(found.map((who) => who?.identityId)), new Set([identityId]));
  assert.equal(looks.callCount(), 2 * ofOne);
  assert.ok(ofOne > 0);

  const ending = identities.sessions.endOthers(identityId, newId());
  const before = identities.session(headers);
  assert.equal(await ending, 1);
  assert.equal(await identities.session(headers), undefined);
  await before;
});

test("a cookie signed with another secret is refused", async () => {
  await make("secret@example.test");
  const { headers } = await signIn(identities, "secret@example.test");
  const other = await open({ secret: "another secret of tests, also long enough" });
  assert.equal(await other.session(headers), undefined);
  assert.notEqual(await identities.session(headers), undefined);
});

test("the session cookie is HttpOnly, SameSite, and Secure under TLS", async () => {
  await make("cookie@example.test");
  for (const [publicUrl, isSecure] of [
    ["https://gate.test", true],
    ["http://gate.test", false],
    [undefined, false],
  ] as const) {
    const at = await open(publicUrl === undefined ? {} : { publicUrl });
    const { cookies } = await signIn(at, "cookie@example.test");
    const cookie = cookies.find((line) => line.includes("session_token"));
    assert.match(cookie ?? "", /HttpOnly/);
    assert.match(cookie ?? "", /SameSite=Lax/);
    assert.match(cookie ?? "", /Path=\/console(;|$)/);
    assert.equal(/; Secure/.test(cookie ?? ""), isSecure, publicUrl);
  }
});

test('a session without "remember me" ends with the browser', async () => {
  await make("forgetful@example.test");
  const fields = { email: "forgetful@example.test", password: PASSWORD, remember: false };
  const { cookies } = await identities.signIn.enter(fields, caller());
  assert.doesNotMatch(cookies.find((line) => line.includes("session_token")) ?? "", /Max-Age|Expires/i);
});

test("the accounts of an identity are listed once each, oldest first", async () => {
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
    { id: builder, kind: "builder", name: "Work", suspended: false, role: "owner" },
    { id: host, kind: "host", name: "Farm", suspended: true, role: "owner" },
  ]);
});

test("opening an account creates its ledger account, and concurrent requests cannot exceed the limit of accounts", async () => {
  const id = await make("many@example.test");
  const asked = Array.from({ length: ACCOUNTS_PER_IDENTITY_MAX + 5 }, (_, i) =>
    identities.openAccount(id, { kind: i % 2 === 0 ? "builder" : "host", name: `Account ${i}` }),
  );
  const refused = (await Promise.all(asked)).filter((account) => account === "too_many");
  assert.equal(refused.length, 5);
  const owned = await identities.accountsOf(id);
  assert.equal(owned.length, ACCOUNTS_PER_IDENTITY_MAX);
  const books = await database.pool.query("select from ledger_account where id = any($1)", [owned.map((a) => a.id)]);
  assert.equal(books.rowCount, ACCOUNTS_PER_IDENTITY_MAX);
});
