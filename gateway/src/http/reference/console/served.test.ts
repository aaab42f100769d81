/**
 * The console API as it is served, held against its document: every operation is called, every answer is what the document
 * says, and every refusal that the document lists is met.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { operationsOf } from "../openapi.ts";
import * as builder from "../testing/builder-visits.ts";
import { type Cast, openCast } from "../testing/cast.ts";
import * as host from "../testing/host-visits.ts";
import * as operator from "../testing/operator-visits.ts";
import { codesOf, refuseByGuard, refusedPeople, refuseInput, refuseUnknown } from "../testing/recipes.ts";
import * as signIn from "../testing/sign-in-visits.ts";
import { Witness } from "../testing/witness.ts";
import { consoleApi } from "./api.ts";

const document = consoleApi();
const endpoints = operationsOf(document);
const witness = new Witness(document);
let cast: Cast;
before(async () => {
  cast = await openCast(witness);
});
after(() => cast.platform.close());

describe("what everybody is refused for", () => {
  test("by the guards: no session, another site, no account, the wrong kind of account", async () => {
    const people = await refusedPeople(cast);
    for (const endpoint of endpoints) {
      for (const code of codesOf(document, endpoint)) {
        // Who may sign in is not turned away by a guard.
        if (code === "not_authenticated" && endpoint.operation.security !== undefined) continue;
        await refuseByGuard(cast, people, code, endpoint);
      }
    }
  });

  test("for a body, a query or a header that is wrong", async () => {
    for (const endpoint of endpoints) await refuseInput(cast, document, endpoint);
  });

  test("for naming what is not there", async () => {
    for (const endpoint of endpoints) await refuseUnknown(cast, endpoint);
  });
});

describe("what they are answered", () => {
  test("signing up, in and out", () => signIn.visitSignIn(cast));
  test("the second factor", () => signIn.visitTwoFactor(cast));
  test("letters and OpenID providers", () => signIn.visitElsewhere(witness));
  test("too many attempts", () => signIn.visitTooOften(cast));
  test("accounts and sessions", () => builder.visitAccounts(cast));
  test("keys", () => builder.visitKeys(cast));
  test("requests", () => builder.visitRequests(cast));
  test("usage", () => builder.visitUsage(cast));
  test("money", () => builder.visitMoney(cast));
  test("models", () => builder.visitModels(cast));
  test("live numbers", () => builder.visitLive(cast));
  test("host tokens", () => host.visitTokens(cast));
  test("nodes and earnings", () => host.visitNodes(cast));
  test("sums of earnings, receipts", () => host.visitEarnings(cast));
  test("operators: the platform", () => operator.visitPlatform(cast));
  test("operators: accounts", () => operator.visitOperatorAccounts(cast));
  test("operators: payouts", () => operator.visitPayouts(cast));
});

test("nothing is documented that was not answered above, but for faults of ours and want of room", () => {
  const unseen = witness.unseen().filter((sight) => !/ (500 internal_error|503 no_capacity)$/.test(sight));
  assert.deepEqual(unseen, []);
});
