/** Accounts, as operators handle them, and their keys. */
import { z } from "zod";
import { fault } from "../../../faults.ts";
import { Grant, ReasonFields, Search } from "../../console/operator/accounts.ts";
import { codes } from "../fault-answers.ts";
import { AccountKind, Id, listOf, Money, SAMPLE_TIME, sampleId, sampleList, Time } from "../values.ts";
import type { ConsoleSpec } from "./access.ts";
import * as keys from "./operator-keys.ts";
import { ACCOUNT_PATH, NO_ACCOUNT } from "./operator-keys.ts";

const TAG = "Operators: accounts";

const PlatformAccount = z
  .strictObject({
    id: Id("acc"),
    object: z.literal("account"),
    kind: AccountKind,
    name: z.string(),
    owners: z.array(z.string()).describe("E-mail addresses."),
    balance_micro: Money.describe("A builder's credit, or what a host is owed."),
    held_micro: Money,
    suspended_at: Time.nullable(),
    created_at: Time,
  })
  .describe("An account as operators see it.");

const PlatformAccountList = listOf(PlatformAccount);

export const answers = { PlatformAccount, PlatformAccountList, ...keys.answers };

export const requests = {
  GrantRequest: {
    fields: Grant,
    words: {
      amount_micro:
        "Whole microdollars, as a number or as digits: 1 to 1000000000000. The balance may not pass 9000000000000.",
      reason: "Stands in the statement and in the record of what operators did.",
    },
  },
  ReasonRequest: { fields: ReasonFields, words: { reason: "Stands in the record of what operators did." } },
  ...keys.requests,
};

const sampleAccount = {
  id: sampleId("acc"),
  object: "account",
  kind: "builder",
  name: "Work",
  owners: ["ada@example.com"],
  balance_micro: "5000000.000000",
  held_micro: "0.000000",
  suspended_at: null,
  created_at: SAMPLE_TIME,
};

export const endpoints: ConsoleSpec[] = [
  {
    id: "listAccounts",
    at: "GET /console/api/operator/accounts",
    tag: TAG,
    summary: "Search the accounts",
    description: "The newest first.",
    guard: "operator",
    query: Search,
    words: { q: "A part of the account's name or of an owner's e-mail address.", kind: "Only accounts of this kind." },
    success: { description: "A page of accounts.", json: PlatformAccountList, example: sampleList(sampleAccount) },
    faults: codes("invalid_cursor"),
  },
  {
    id: "getAccount",
    at: "GET /console/api/operator/accounts/{id}",
    tag: TAG,
    summary: "Read an account",
    guard: "operator",
    path: ACCOUNT_PATH,
    success: { description: "The account.", json: PlatformAccount, example: sampleAccount },
    faults: [NO_ACCOUNT],
  },
  {
    id: "grantCredit",
    at: "POST /console/api/operator/accounts/{id}/grant",
    tag: TAG,
    summary: "Grant credit to a builder",
    guard: "operator",
    path: ACCOUNT_PATH,
    body: { fields: Grant, example: { amount_micro: "5000000", reason: "a welcome" } },
    success: { description: "The account.", json: PlatformAccount, example: sampleAccount },
    faults: [NO_ACCOUNT, fault("not_a_builder", { message: "Credit is granted to builder accounts only." })],
  },
  {
    id: "suspendAccount",
    at: "POST /console/api/operator/accounts/{id}/suspend",
    tag: TAG,
    summary: "Suspend an account",
    description: "A builder's keys and a host's nodes do nothing more. Suspending the suspended changes nothing.",
    guard: "operator",
    path: ACCOUNT_PATH,
    body: { fields: ReasonFields, example: { reason: "an unpaid dispute" } },
    success: {
      description: "The account.",
      json: PlatformAccount,
      example: { ...sampleAccount, suspended_at: SAMPLE_TIME },
    },
    faults: [NO_ACCOUNT],
  },
  {
    id: "restoreAccount",
    at: "POST /console/api/operator/accounts/{id}/restore",
    tag: TAG,
    summary: "Restore a suspended account",
    guard: "operator",
    path: ACCOUNT_PATH,
    body: { fields: ReasonFields, example: { reason: "settled" } },
    success: { description: "The account.", json: PlatformAccount, example: sampleAccount },
    faults: [NO_ACCOUNT],
  },
  ...keys.endpoints,
];
