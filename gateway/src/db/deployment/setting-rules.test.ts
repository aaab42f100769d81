/** Compares a gateway's settings with the recorded ones, and replaces a pepper while gateways run. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hashSecretForComparison, matchesSecretHash } from "./secret-hash.ts";
import {
  describeDifference,
  type GatewaySetting,
  judgeSetting,
  makePlainSetting,
  VALKEY_WITHOUT_ID,
} from "./setting-rules.ts";

const PEPPERS = { first: "the first pepper, of 32 characters", second: "the second pepper, of 32 characters" };
const [FIRST, SECOND] = [hashSecretForComparison(PEPPERS.first), hashSecretForComparison(PEPPERS.second)];

const withPepper = (pepper: string, others: { old?: string; next?: string } = {}): GatewaySetting => ({
  written: () => hashSecretForComparison(pepper),
  is: (recorded) => matchesSecretHash(recorded, pepper),
  replaces: (recorded) => others.old !== undefined && matchesSecretHash(recorded, others.old),
  isAlone: others.old === undefined && others.next === undefined,
});

describe("the check value (salted hash) of a secret", () => {
  test("matches only the secret from which it was computed, and is different each time it is computed", () => {
    assert.ok(matchesSecretHash(FIRST, PEPPERS.first));
    assert.ok(!matchesSecretHash(FIRST, PEPPERS.second));
    assert.notEqual(hashSecretForComparison(PEPPERS.first), FIRST);
    assert.ok(!FIRST.includes(PEPPERS.first));
  });

  for (const damaged of ["", ".", "salt", "salt.", `${FIRST}x`, FIRST.slice(0, -4)]) {
    test(`matches no secret when it is damaged: "${damaged.slice(-12)}"`, () => {
      assert.ok(!matchesSecretHash(damaged, PEPPERS.first));
    });
  }
});

describe("a gateway's settings", () => {
  test("match when they equal the recorded ones, or during a rollout the previous ones", () => {
    const [before, now] = ["embedded", "nats A1"];
    assert.equal(judgeSetting({ value: now, previous: null }, makePlainSetting(now)), "fits");
    assert.equal(judgeSetting({ value: now, previous: before }, makePlainSetting(now)), "fits");
    assert.equal(judgeSetting({ value: now, previous: before }, makePlainSetting(before)), "previous");
    assert.equal(judgeSetting({ value: now, previous: null }, makePlainSetting(before)), "differs");
    assert.equal(judgeSetting({ value: now, previous: before }, makePlainSetting("nats A2")), "differs");
  });

  test("stay valid while the pepper is replaced gateway by gateway, in the documented steps", () => {
    const atFirst = { value: FIRST, previous: null };
    const inFlight = { value: SECOND, previous: FIRST };
    const done = { value: SECOND, previous: null };
    const steps = {
      before: withPepper(PEPPERS.first),
      next: withPepper(PEPPERS.first, { next: PEPPERS.second }),
      old: withPepper(PEPPERS.second, { old: PEPPERS.first }),
      after: withPepper(PEPPERS.second),
    };
    assert.equal(judgeSetting(atFirst, steps.next), "fits");
    assert.equal(judgeSetting(atFirst, steps.old), "introduces");
    assert.deepEqual(
      [steps.before, steps.next, steps.old, steps.after].map((own) => judgeSetting(inFlight, own)),
      ["previous", "previous", "fits", "finishes"],
    );
    assert.deepEqual(
      [steps.before, steps.next, steps.old, steps.after].map((own) => judgeSetting(done, own)),
      ["differs", "differs", "fits", "fits"],
    );
    assert.equal(judgeSetting(atFirst, steps.after), "differs");
  });

  test("are refused when two gateways replace the pepper with different ones at the same time", () => {
    const recorded = { value: SECOND, previous: FIRST };
    const third = withPepper("the third pepper, of 32 characters", { old: PEPPERS.first });
    assert.equal(judgeSetting(recorded, third), "differs");
    assert.match(
      describeDifference("pepper", recorded, third).what,
      /that other gateways are replacing the old pepper with$/,
    );
  });

  test("that differ are reported with the variable, both values and the command that changes them, without secrets", () => {
    const { what, remedy } = describeDifference(
      "payments",
      { value: "live", previous: null },
      makePlainSetting("test"),
    );
    assert.equal(what, "STRIPE_SECRET_KEY differs: this gateway has test keys, and the deployment live keys");
    assert.match(remedy, /tollgate admin deployment set payments$/);
    const empty = describeDifference(
      "limits",
      { value: "valkey lim_1", previous: null },
      makePlainSetting(VALKEY_WITHOUT_ID),
    );
    assert.equal(
      empty.what,
      "VALKEY_URL differs: this gateway has a limits server (Valkey) that has no ID yet, and the deployment limits server lim_1",
    );
    const pepper = describeDifference("pepper", { value: FIRST, previous: null }, withPepper(PEPPERS.second));
    assert.match(pepper.what, /^KEY_PEPPER is not the pepper of this database/);
    assert.ok(!JSON.stringify(pepper).includes(PEPPERS.second));
  });
});
