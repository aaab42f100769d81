/** Guessing the second factor. All gateways together count every guess for its identity before checking it. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { openPool } from "../db/pool.ts";
import { enableRowValidation } from "../db/rows.ts";
import { openTestDatabase, TEST_CONNECTION_TIMEOUT_MS, type TestDatabase } from "../db/testing.ts";
import { ATTEMPT_RULES, openAttemptLimits } from "./attempt-limits.ts";
import { openAuthLibrary } from "./auth-library.ts";
import { type AuthCaller, type AuthLibraryCall, createAuthLibraryCall } from "./auth-library-call.ts";
import { createIdentity } from "./create-identity.ts";
import { captureDatabaseErrors } from "./database-error-capture.ts";
import { openPasswordService, type Passwords } from "./passwords.ts";
import { openSignInService, type SignInService } from "./sign-in.ts";
import { SignInRefusal } from "./sign-in-refusals.ts";
import { computeAuthenticatorCode } from "./testing/authenticator-codes.ts";
import { cheapPasswordHash } from "./testing/cheap-password-hash.ts";
import { openSecondFactors, type SecondFactors } from "./two-factor.ts";

const newId = newIds(systemClock, systemRandom());
const log = createLog("silent");
const secret = "a secret of tests, 32 characters or more";
const PASSWORD = "correct horse battery";
const GUESSES = 300;
const CHALLENGES = 12;

interface Gateway {
  signIn: SignInService;
  passwords: Passwords;
  twoFactor: SecondFactors;
}

let database: TestDatabase;
let gateways: [Gateway, Gateway];
/** How many codes and passwords the sign-in library has checked. */
let evaluated = 0;
/**
 * The library's endpoints that check a code or a password. `challenge` only finds the identity of a pending sign-in.
 * Sign-in with a password is not included: only its wrong passwords count, and these contain `PASSWORD_GUESSED`.
 */
const GUESSED = /^\/(two-factor\/(?!challenge)|change-password)/;
const PASSWORD_GUESSED = "not the one";
const ends: (() => Promise<void>)[] = [];

before(async () => {
  database = await openTestDatabase();
  gateways = [await openGateway(), await openGateway()];
});
after(async () => {
  for (const end of ends) await end();
  await database.close();
});

async function openGateway(): Promise<Gateway> {
  const pool = enableRowValidation(
    openPool(database.connection, { log, sizeMax: 8, connectMsMax: TEST_CONNECTION_TIMEOUT_MS }),
  );
  ends.push(() => pool.end());
  const witness = captureDatabaseErrors(pool);
  const options = { pool, witness, newId, log, secret, publicUrl: undefined };
  const auth = openAuthLibrary({
    ...options,
    emails: undefined,
    verifyEmails: false,
    providers: [],
    passwordHash: cheapPasswordHash,
  });
  await auth.$context;
  const asked = createAuthLibraryCall(async () => auth, witness);
  const ask: AuthLibraryCall = (caller, question) => {
    const isGuess = GUESSED.test(question.path) || JSON.stringify(question.body)?.includes(PASSWORD_GUESSED);
    if (isGuess) evaluated++;
    return asked(caller, question);
  };
  const attempts = openAttemptLimits({ pool, secret });
  return {
    signIn: openSignInService({ ask, attempts, pool, verifyEmails: false }),
    passwords: openPasswordService({ pool, ask, attempts, log, canMail: false }),
    twoFactor: openSecondFactors({ ask, attempts }),
  };
}

/** Gives every guess another address, so that only the count per identity can stop it. */
let callers = 0;
const from = (cookies: string[] = []): AuthCaller => ({
  cookie: cookies.map((line) => line.split(";")[0]).join("; "),
  address: `10.${callers >> 16}.${(callers >> 8) & 255}.${callers++ & 255}`,
  userAgent: "test",
});

async function person() {
  const email = `person-${newId()}@example.test`;
  const identityId = await createIdentity(
    { pool: database.pool, newId, passwordHash: cheapPasswordHash },
    { email, password: PASSWORD, name: "A person", operator: false },
  );
  const { signIn, twoFactor } = gateways[0];
  const { cookies } = await signIn.enter({ email, password: PASSWORD, remember: true }, from());
  const by = { identityId, caller: from(cookies) };
  const { secret: shared, backupCodes } = await twoFactor.begin(PASSWORD, by);
  const confirmed = await twoFactor.confirm(computeAuthenticatorCode(shared), by);
  return { email, identityId, secret: shared, backupCodes, session: confirmed.cookies };
}

async function challenge(email: string): Promise<string[]> {
  const { status, cookies } = await gateways[0].signIn.enter({ email, password: PASSWORD, remember: true }, from());
  assert.equal(status, "two_factor_required");
  return cookies;
}

async function reasonOf(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
    return "let in";
  } catch (error) {
    assert.ok(error instanceof SignInRefusal, String(error));
    return error.reason;
  }
}

const wrong = (shared: string, index: number): string => {
  const right = [-2, -1, 0, 1, 2].map((steps) => computeAuthenticatorCode(shared, steps));
  let guess = index;
  while (right.includes(String(guess).padStart(6, "0"))) guess += 1000;
  return String(guess).padStart(6, "0");
};

/** Simulates that this many seconds pass, by moving the stored times back. */
const pass = (seconds: number) =>
  database.pool.query("update identity_attempt set ends_at = ends_at - make_interval(secs => $1)", [seconds]);

const gatewayOf = (index: number): Gateway => gateways[index % 2] as Gateway;

test("only 10 of 300 concurrent guesses of a second-factor code are checked, even from 300 addresses at two gateways", async () => {
  const { email, secret: shared } = await person();
  const challenges: string[][] = [];
  for (let i = 0; i < CHALLENGES; i++) challenges.push(await challenge(email));
  evaluated = 0;
  const reasons = await Promise.all(
    Array.from({ length: GUESSES }, (_, i) => {
      const caller = from(challenges[i % CHALLENGES]);
      return reasonOf(gatewayOf(i).signIn.enterCode(wrong(shared, i), caller));
    }),
  );
  assert.equal(evaluated, ATTEMPT_RULES.secondFactor.attempts);
  assert.ok(!reasons.includes("let in"));
  assert.equal(reasons.filter((reason) => reason === "too_many_attempts").length, GUESSES - evaluated);

  // Until the window ends, not even the right code is checked.
  const owner = from(await challenge(email));
  assert.equal(
    await reasonOf(gateways[1].signIn.enterCode(computeAuthenticatorCode(shared, 1), owner)),
    "too_many_attempts",
  );
  assert.equal(evaluated, ATTEMPT_RULES.secondFactor.attempts);
  await pass(ATTEMPT_RULES.secondFactor.windowS);
  assert.equal(await reasonOf(gateways[1].signIn.enterCode(computeAuthenticatorCode(shared, 1), owner)), "let in");
});

test("backup codes and app codes share one limit of attempts", async () => {
  const { email, secret: shared, backupCodes } = await person();
  const challenges: string[][] = [];
  for (let i = 0; i < 4; i++) challenges.push(await challenge(email));
  evaluated = 0;
  for (let i = 0; i < ATTEMPT_RULES.secondFactor.attempts; i++) {
    const guess = i % 2 === 0 ? wrong(shared, i) : `aaaaa-${String(i).padStart(5, "0")}`;
    const reason = await reasonOf(gatewayOf(i).signIn.enterCode(guess, from(challenges[i % 4])));
    assert.equal(reason, "wrong_code");
  }
  const next = from(await challenge(email));
  assert.equal(await reasonOf(gateways[0].signIn.enterCode(String(backupCodes[0]), next)), "too_many_attempts");
  assert.equal(evaluated, ATTEMPT_RULES.secondFactor.attempts);
});

test("a correct second-factor code resets the count of wrong ones", async () => {
  const { email, secret: shared, backupCodes } = await person();
  for (let round = 0; round < 3; round++) {
    const tries = from(await challenge(email));
    for (let i = 0; i < 4; i++) {
      assert.equal(await reasonOf(gatewayOf(i).signIn.enterCode(wrong(shared, i), tries)), "wrong_code");
    }
    const caller = from(await challenge(email));
    assert.equal(await reasonOf(gatewayOf(round).signIn.enterCode(String(backupCodes[round]), caller)), "let in");
  }
});

test("a forged cookie for the second sign-in step is refused, and does not use up its victim's attempts", async () => {
  const { email, identityId, secret: shared } = await person();
  evaluated = 0;
  for (let i = 0; i < 2 * ATTEMPT_RULES.secondFactor.attempts; i++) {
    const forged = from([`tollgate.two_factor=${encodeURIComponent(`2fa-${identityId}.c2lnbmF0dXJl`)}`]);
    assert.equal(
      await reasonOf(gatewayOf(i).signIn.enterCode(wrong(shared, i), i % 2 ? forged : from())),
      "no_challenge",
    );
  }
  assert.equal(evaluated, 0);
  const owner = from(await challenge(email));
  assert.equal(await reasonOf(gateways[0].signIn.enterCode(computeAuthenticatorCode(shared, 1), owner)), "let in");
});

test("every guess of a password or code is counted before it is checked", async () => {
  const { email, identityId, secret: shared, session } = await person();
  const by = () => ({ identityId, caller: from(session) });
  const places: Record<string, { rule: keyof typeof ATTEMPT_RULES; guess: (gateway: Gateway) => Promise<unknown> }> = {
    "sign-in": {
      rule: "email",
      guess: ({ signIn }) => signIn.enter({ email, password: PASSWORD_GUESSED, remember: true }, from()),
    },
    "change of password": {
      rule: "identity",
      guess: ({ passwords }) => passwords.change({ password: PASSWORD_GUESSED, newPassword: "a new password" }, by()),
    },
    "new second factor": { rule: "identity", guess: ({ twoFactor }) => twoFactor.begin(PASSWORD_GUESSED, by()) },
    "code of a session": { rule: "identity", guess: ({ twoFactor }) => twoFactor.confirm(wrong(shared, 1), by()) },
    "new backup codes": {
      rule: "identity",
      guess: ({ twoFactor }) => twoFactor.newBackupCodes(PASSWORD_GUESSED, by()),
    },
    "end of the second factor": { rule: "identity", guess: ({ twoFactor }) => twoFactor.end(PASSWORD_GUESSED, by()) },
  };
  for (const [place, { rule, guess }] of Object.entries(places)) {
    const { attempts, windowS } = ATTEMPT_RULES[rule];
    evaluated = 0;
    const reasons = await Promise.all(Array.from({ length: 3 * attempts }, (_, i) => reasonOf(guess(gatewayOf(i)))));
    assert.equal(evaluated, attempts, place);
    assert.equal(reasons.filter((reason) => reason === "too_many_attempts").length, 2 * attempts, place);
    assert.ok(!reasons.includes("let in"), place);
    await pass(windowS);
  }
});
