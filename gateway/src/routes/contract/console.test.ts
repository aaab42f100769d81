/**
 * Compares the console API with its declaration: calls every operation, checks every response, and requires that every
 * declared error occurs.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { consoleApi } from "@tollgate/api/console/api.ts";
import { objectKindOf } from "./testing/access.ts";
import * as builders from "./testing/builders.ts";
import { openCoverage } from "./testing/coverage.ts";
import { callDeletion } from "./testing/deletion.ts";
import { type Fixture, type ObjectKind, openFixture, type PersonKind } from "./testing/fixture.ts";
import * as hosts from "./testing/hosts.ts";
import { callNotifications } from "./testing/notifications.ts";
import type { Operation } from "./testing/operations.ts";
import * as operators from "./testing/operators.ts";
import * as signIn from "./testing/sign-in.ts";
import { callTeam } from "./testing/team.ts";
import { unknownIds, wrongInputs } from "./testing/wrong-input.ts";

const coverage = openCoverage(consoleApi);
let fixture: Fixture;
before(async () => {
  fixture = await openFixture();
});
after(() => fixture.close());

/** A person who passes the operation's guard. */
function browserFor({ guard }: Operation) {
  const who: PersonKind = guard === "host" || guard === "operator" ? guard : "builder";
  return fixture.people[who].browser;
}

describe("refusals that every operation shares", () => {
  test("refuse an invalid body, query or header", async () => {
    const made = new Map<ObjectKind | undefined, string>();
    for (const operation of coverage.operations) {
      const thing = objectKindOf(operation);
      if (thing !== undefined && !made.has(thing)) made.set(thing, await fixture.make(thing));
      for (const sent of wrongInputs(operation, made.get(thing)))
        await coverage.send(browserFor(operation), operation.id, sent);
    }
  });

  test("refuse an unknown ID", async () => {
    for (const operation of coverage.operations) {
      for (const id of unknownIds(operation)) {
        await coverage.ask(browserFor(operation), 404, operation.id, { id, body: operation.body?.example });
      }
    }
  });
});

describe("tests of every response of the console API", () => {
  for (const [name, call] of Object.entries({
    "signing up, in and out": signIn.callSignIn,
    "sessions for scripts": signIn.callScripts,
    "the second factor": signIn.callTwoFactor,
    "mailed links": signIn.callEmailedLinks,
    "OpenID providers": signIn.callProviders,
    "too many attempts": signIn.callSignInLimits,
    "accounts and sessions": builders.callAccounts,
    "exports and deletions": callDeletion,
    "people of an account": callTeam,
    keys: builders.callKeys,
    "the playground": builders.callPlayground,
    requests: builders.callRequests,
    "refused calls": builders.callRefusals,
    "what cannot be reached": builders.callHealth,
    performance: builders.callPerformance,
    usage: builders.callUsage,
    statement: builders.callStatement,
    "invoices and host statements": builders.callInvoices,
    payments: builders.callPayments,
    money: builders.callMoney,
    models: builders.callModels,
    notifications: callNotifications,
    "live numbers": builders.callLive,
    "host tokens": hosts.callTokens,
    nodes: hosts.callNodes,
    "what nodes did, and the market": hosts.callInsight,
    "earnings, withheld shares and their receipts": hosts.callEarnings,
    "a node's spot checks": hosts.callChecks,
    "a host's payouts and their method": hosts.callPayouts,
    "operators: the platform": operators.callPlatform,
    "operators: nodes": operators.callPlatformNodes,
    "operators: accounts": operators.callPlatformAccounts,
    "operators: payouts": operators.callPayouts,
    "operators: withheld shares": operators.callWithheld,
    "operators: spot checks": operators.callPlatformChecks,
  })) {
    test(name, () => call(fixture, coverage));
  }
});

test("the tests above received every declared error, except internal errors and full memory", () => {
  assert.deepEqual(coverage.unmet(), []);
});
