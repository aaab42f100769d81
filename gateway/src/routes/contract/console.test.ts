/**
 * Compares the console API with its declaration: calls every operation, checks every response, and requires that every
 * declared error occurs.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { consoleApi } from "@tollgate/api/console/api.ts";
import { findObjectKind } from "./testing/access-cases.ts";
import * as builders from "./testing/builder-routes.ts";
import { type ContractFixture, type ObjectKind, openFixture, type PersonKind } from "./testing/contract-fixture.ts";
import { callDeletionRoutes } from "./testing/deletion-routes.ts";
import * as hosts from "./testing/host-routes.ts";
import { callNotificationRoutes } from "./testing/notification-routes.ts";
import type { Operation } from "./testing/operations.ts";
import * as operators from "./testing/operator-routes.ts";
import { openCoverage } from "./testing/route-coverage.ts";
import * as signIn from "./testing/sign-in-routes.ts";
import { callTeamRoutes } from "./testing/team-routes.ts";
import { makeUnknownIds, wrongInputs } from "./testing/wrong-input.ts";

const coverage = openCoverage(consoleApi);
let fixture: ContractFixture;
before(async () => {
  fixture = await openFixture();
});
after(() => fixture.close());

/** A person who passes the operation's guard. */
function browserFor({ guard }: Operation) {
  const who: PersonKind = guard === "host" || guard === "operator" ? guard : "builder";
  return fixture.people[who].browser;
}

describe("every operation", () => {
  test("refuses an invalid body, query or header", async () => {
    const made = new Map<ObjectKind | undefined, string>();
    for (const operation of coverage.operations) {
      const thing = findObjectKind(operation);
      if (thing !== undefined && !made.has(thing)) made.set(thing, await fixture.make(thing));
      for (const sent of wrongInputs(operation, made.get(thing)))
        await coverage.send(browserFor(operation), operation.id, sent);
    }
  });

  test("refuses an unknown ID", async () => {
    for (const operation of coverage.operations) {
      for (const id of makeUnknownIds(operation)) {
        await coverage.ask(browserFor(operation), 404, operation.id, { id, body: operation.body?.example });
      }
    }
  });
});

describe("tests of every response of the console API", () => {
  for (const [name, call] of Object.entries({
    "signing up, in and out": signIn.callSignInRoutes,
    "sessions for scripts": signIn.callScriptLoginRoutes,
    "the second factor": signIn.callTwoFactorRoutes,
    "mailed links": signIn.callEmailedLinkRoutes,
    "OpenID providers": signIn.callProviderSignInRoutes,
    "too many attempts": signIn.exceedSignInLimits,
    "accounts and sessions": builders.callAccountRoutes,
    "exports and deletions": callDeletionRoutes,
    "people of an account": callTeamRoutes,
    keys: builders.callKeyRoutes,
    "the playground": builders.callPlaygroundRoutes,
    requests: builders.callRequestRoutes,
    "refused calls": builders.callRefusalRoutes,
    "what cannot be reached": builders.callHealthRoutes,
    performance: builders.callPerformanceRoutes,
    usage: builders.callUsageRoutes,
    statement: builders.callStatementRoutes,
    "invoices and host statements": builders.callInvoiceRoutes,
    payments: builders.callPaymentRoutes,
    money: builders.callMoneyRoutes,
    models: builders.callModelRoutes,
    notifications: callNotificationRoutes,
    "live numbers": builders.callEventStreamRoutes,
    "host tokens": hosts.callHostTokenRoutes,
    nodes: hosts.callNodeRoutes,
    "what nodes did, and the market": hosts.callNodeActivityRoutes,
    "earnings, withheld shares and their receipts": hosts.callEarningsRoutes,
    "a node's spot checks": hosts.callSpotCheckRoutes,
    "a host's payouts and their method": hosts.callHostPayoutRoutes,
    "operators: the platform": operators.callPlatformRoutes,
    "operators: nodes": operators.callOperatorNodeRoutes,
    "operators: accounts": operators.callOperatorAccountRoutes,
    "operators: payouts": operators.callOperatorPayoutRoutes,
    "operators: withheld shares": operators.callWithheldShareRoutes,
    "operators: spot checks": operators.callOperatorSpotCheckRoutes,
  })) {
    test(name, () => call(fixture, coverage));
  }
});

test("the tests of this file receive every declared error, except those for internal errors and a full memory", () => {
  assert.deepEqual(coverage.unmet(), []);
});
