/** Replacing the session secret: sessions stay valid, second factors stay readable, and links keep working. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { type Identities, type IdentitiesOptions, openIdentities } from "./identities.ts";
import { openSecretReencryption } from "./secret-reencryption.ts";
import { createSessionSignatureReplacer } from "./session-signature-replacer.ts";
import { SignInRefusal } from "./sign-in-refusals.ts";
import { computeAuthenticatorCode } from "./testing/authenticator-codes.ts";
import { cheapPasswordHash } from "./testing/cheap-password-hash.ts";

const newId = newIds(systemClock, systemRandom());
const PASSWORD = "correct horse battery";
const [FIRST, SECOND] = ["the first secret, 32 characters or so", "the second secret, 32 characters or so"];

let database: TestDatabase;
/** The identities module of one gateway for each stage of a replacement: before, prepared, changed, after. */
let stages: Record<"before" | "prepared" | "changed" | "after", Identities>;

const open = (secrets: Pick<IdentitiesOptions, "secret" | "oldSecret" | "nextSecret">): Promise<Identities> =>
  openIdentities({
    pool: database.pool,
    newId,
    log: createLog("silent"),
    publicUrl: undefined,
    passwordHash: cheapPasswordHash,
    ...secrets,
  });

before(async () => {
  database = await openTestDatabase();
  stages = {
    before: await open({ secret: FIRST }),
    prepared: await open({ secret: FIRST, nextSecret: SECOND }),
    changed: await open({ secret: SECOND, oldSecret: FIRST }),
    after: await open({ secret: SECOND }),
  };
});
after(() => database.close());

let callers = 0;
const callerWith = (cookie?: string) => ({ cookie, address: `10.2.0.${++callers}`, userAgent: "test" });
const cookieOf = (cookies: string[]): string => cookies.map((line) => line.split(";")[0]).join("; ");

async function signedIn(at: Identities, email: string): Promise<string> {
  const { status, cookies } = await at.signIn.enter({ email, password: PASSWORD, remember: true }, callerWith());
  assert.equal(status, "signed_in");
  return cookieOf(cookies);
}
const whoIs = async (at: Identities, cookie: string): Promise<Uuid | undefined> =>
  (await at.session(new Headers({ cookie })))?.identityId;

test("sessions signed with the old or the new secret stay valid during a replacement and are renewed with the new secret", async () => {
  const email = "ada@example.test";
  const id = await stages.before.create({ email, password: PASSWORD, name: "Ada", operator: false });
  const [old, young] = [await signedIn(stages.before, email), await signedIn(stages.changed, email)];
  for (const cookie of [old, young]) {
    assert.equal(await whoIs(stages.prepared, cookie), id);
    assert.equal(await whoIs(stages.changed, cookie), id);
  }
  assert.equal(await whoIs(stages.before, young), undefined);
  assert.equal(await whoIs(stages.after, old), undefined);
  const { cookies } = await stages.changed.signIn.renew(callerWith(old));
  // No new cookie: sessions are renewed after a day, and this one is younger.
  assert.deepEqual(cookies, []);
  await database.pool.query("update identity_session set expires_at = now() + interval '5 days'");
  const renewed = await stages.changed.signIn.renew(callerWith(old));
  assert.equal(await whoIs(stages.after, cookieOf(renewed.cookies)), id);
  const bent = old.replace(/.(?==|%3D)/, (char) => (char === "A" ? "B" : "A"));
  assert.equal(await whoIs(stages.changed, bent), undefined, "a signature that nobody made");
});

test("second factors work in every step of a secret's replacement, and finally are encrypted with the new secret", async () => {
  const email = "grace@example.test";
  const identityId = await stages.before.create({ email, password: PASSWORD, name: "Grace", operator: false });
  const cookie = await signedIn(stages.before, email);
  const by = { identityId, caller: callerWith(cookie) };
  const { secret, backupCodes } = await stages.before.twoFactor.begin(PASSWORD, by);
  await stages.before.twoFactor.confirm(computeAuthenticatorCode(secret), by);
  const enter = async (at: Identities, code: string): Promise<string> => {
    const first = await at.signIn.enter({ email, password: PASSWORD, remember: true }, callerWith());
    assert.equal(first.status, "two_factor_required");
    const { status } = await at.signIn.enterCode(code, callerWith(cookieOf(first.cookies)));
    return status;
  };
  const kept = openSecretReencryption({ pool: database.pool, secret: SECOND, others: [FIRST] });
  assert.equal(await kept.others(), 1);
  const [one, two, three, four, five] = backupCodes as [string, string, string, string, string];
  assert.equal(await enter(stages.changed, one), "signed_in");
  assert.equal(await kept.others(), 0);
  assert.equal(await enter(stages.prepared, two), "signed_in");
  assert.equal(await kept.others(), 1, "gateways that have not changed yet read it too");
  assert.equal(await enter(stages.changed, three), "signed_in");
  await stages.prepared.sweep();
  assert.equal(await kept.others(), 0);
  assert.equal(await enter(stages.prepared, four), "signed_in");
  await stages.changed.sweep();
  assert.equal(await kept.others(), 0);
  assert.equal(await enter(stages.after, five), "signed_in");
  await assert.rejects(enter(stages.after, one), SignInRefusal, "a backup code is good once");
});

test("a token signed with another valid secret is signed again with the current secret; other text stays unchanged", () => {
  const sign = (secret: string, text: string): string =>
    `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
  const resigning = createSessionSignatureReplacer({ secret: SECOND, others: [FIRST] });
  assert.equal(resigning.token(sign(FIRST, "head.body")), sign(SECOND, "head.body"));
  for (const token of [sign(SECOND, "head.body"), sign("a stranger's", "head.body"), "no token", "", "."]) {
    assert.equal(resigning.token(token), token);
  }
  for (const cookies of ["a=b; tollgate.x=%E0%A4%A; tollgate.y=z", "", "tollgate.session_token"]) {
    assert.equal(resigning.cookies(cookies), cookies);
  }
});
