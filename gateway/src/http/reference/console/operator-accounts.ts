/** Accounts and keys, as operators handle them. */
import { z } from "zod";
import { fault } from "../../../faults.ts";
import { Grant, Limits, ReasonFields, Search } from "../../console/operator/accounts.ts";
import { codes } from "../fault-answers.ts";
import { AccountKind, Count, Id, listOf, Money, SAMPLE_TIME, sampleId, sampleList, Time } from "../values.ts";
import type { ConsoleSpec } from "./access.ts";
import { ApiKeyList, sampleKey } from "./keys.ts";

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

const OwnLimit = Count.nullable();
const KeyLimits = z
  .strictObject({
    object: z.literal("key_limits"),
    id: Id("key"),
    requests_per_minute: OwnLimit,
    tokens_per_minute: OwnLimit,
    in_flight: OwnLimit,
  })
  .describe("What an operator set for one key; null where the platform's limit holds.");

export const answers = { PlatformAccount, PlatformAccountList, KeyLimits };

export const requests = {
  GrantRequest: {
    fields: Grant,
    words: {
      amount_micro: "Whole microdollars, as a number or as digits: 1 to 1000000000000.",
      reason: "Stands in the statement and in the record of what operators did.",
    },
  },
  ReasonRequest: { fields: ReasonFields, words: { reason: "Stands in the record of what operators did." } },
  KeyLimitsRequest: {
    fields: Limits,
    words: {
      requests_per_minute: "null: the platform's limit, here and below. At most 999999999, here and below.",
      tokens_per_minute: "Prompt and output together.",
      in_flight: "Requests at the same time.",
    },
  },
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

const ACCOUNT_PATH = { id: "The account's id, `acc_…`." };
const NO_ACCOUNT = fault("not_found", { message: "No such account." });

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
    id: "listAccountKeys",
    at: "GET /console/api/operator/accounts/{id}/keys",
    tag: TAG,
    summary: "List an account's API keys",
    description: "Their spend is not worked out here: it reads as zero.",
    guard: "operator",
    path: ACCOUNT_PATH,
    success: {
      description: "The keys, without their secrets.",
      json: ApiKeyList,
      example: sampleList({ ...sampleKey, spend_this_month: { requests: 0, charge_micro: "0.000000" } }),
    },
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
  {
    id: "setKeyLimits",
    at: "PUT /console/api/operator/keys/{id}/limits",
    tag: TAG,
    summary: "Set the limits of one API key",
    guard: "operator",
    path: { id: "The key's id, `key_…`." },
    body: { fields: Limits, example: { requests_per_minute: 6000 } },
    success: {
      description: "What was set.",
      json: KeyLimits,
      example: {
        object: "key_limits",
        id: sampleId("key"),
        requests_per_minute: 6000,
        tokens_per_minute: null,
        in_flight: null,
      },
    },
    faults: [fault("not_found", { message: "No such key, or it is revoked." })],
  },
];
