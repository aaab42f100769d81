/** Operators' routes for accounts and their keys. */
import { z } from "zod";
import {
  AccountKind,
  AsOfField,
  Id,
  Money,
  makeListSchema,
  makeSampleId,
  SAMPLE_TIME,
  sampleList,
  Time,
} from "../common-schemas.ts";
import { ACCOUNT_KINDS } from "../enumerations.ts";
import { refusal, refusalsOfCodes } from "../faults.ts";
import { PageFields } from "../list-query-fields.ts";
import { declareRoutes } from "../route-declaration.ts";
import { Role } from "./accounts.ts";
import { Reason, ReasonFields, SearchText } from "./operator-fields.ts";
import * as keys from "./operator-keys.ts";
import { ACCOUNT_NOT_FOUND, ACCOUNT_PATH_PARAMETER } from "./operator-keys.ts";

export const AccountSearchFields = z.object({
  ...PageFields,
  q: SearchText.optional(),
  kind: z.enum(ACCOUNT_KINDS, "must be builder or host").optional(),
});
export const CreditGrantFields = z.object({
  amount_micro: z.union([z.string(), z.int()], "must be a whole number of microdollars"),
  reason: Reason,
});

export const PlatformAccount = z
  .strictObject({
    id: Id("acc"),
    object: z.literal("account"),
    kind: AccountKind,
    name: z.string(),
    owners: z.array(z.string()).describe("Email addresses."),
    members: z
      .array(z.strictObject({ email: z.string(), role: Role }))
      .describe("Email addresses of the other team members."),
    balance_micro: Money.describe("A builder's credit, or the amount owed to a host."),
    held_micro: Money,
    suspended_at: Time.nullable(),
    deleted_at: Time.nullable().describe(
      "When its owner deleted the account. It is suspended too, and cannot be restored.",
    ),
    created_at: Time,
  })
  .describe("An account with operator details.");

const PlatformAccountList = makeListSchema(PlatformAccount);
const PlatformAccountDetail = z.strictObject({ ...PlatformAccount.shape, ...AsOfField });

export const operatorAccountsResponseSchemas = {
  PlatformAccount,
  PlatformAccountDetail,
  PlatformAccountList,
  ...keys.operatorKeysResponseSchemas,
};

export const operatorAccountsRequestSchemas = {
  GrantRequest: {
    fields: CreditGrantFields,
    words: {
      amount_micro:
        "A whole number of microdollars, as a number or a string of digits: 1 to 1000000000000. The resulting balance must not exceed 9000000000000.",
      reason: "Shown in the account's statement and in the audit log.",
    },
  },
  ReasonRequest: { fields: ReasonFields, words: { reason: "Shown in the audit log." } },
  ...keys.operatorKeysRequestSchemas,
};

const sampleAccount = {
  id: makeSampleId("acc"),
  object: "account",
  kind: "builder",
  name: "Work",
  owners: ["ada@example.com"],
  members: [{ email: "grace@example.com", role: "viewer" }],
  balance_micro: "5000000.000000",
  held_micro: "0.000000",
  suspended_at: null,
  deleted_at: null,
  created_at: SAMPLE_TIME,
};

export const operatorAccountRoutes = declareRoutes({
  listAccounts: {
    at: "GET /console/api/operator/accounts",
    summary: "Search accounts",
    description: "Newest first.",
    guard: "operator",
    query: AccountSearchFields,
    words: {
      q: "Part of the account's name, or of a team member's email address.",
      kind: "Only accounts of this kind.",
    },
    answer: { description: "A page of accounts.", json: PlatformAccountList, example: sampleList(sampleAccount) },
    faults: refusalsOfCodes("invalid_cursor"),
  },
  getAccount: {
    at: "GET /console/api/operator/accounts/{id}",
    summary: "Get an account",
    guard: "operator",
    path: ACCOUNT_PATH_PARAMETER,
    answer: {
      description: "The account.",
      json: PlatformAccountDetail,
      example: { ...sampleAccount, as_of: SAMPLE_TIME },
    },
    faults: [ACCOUNT_NOT_FOUND],
  },
  grantCredit: {
    at: "POST /console/api/operator/accounts/{id}/grant",
    summary: "Grant credit to a builder",
    guard: "operator",
    path: ACCOUNT_PATH_PARAMETER,
    body: { fields: CreditGrantFields, example: { amount_micro: "5000000", reason: "a welcome" } },
    answer: { description: "The account.", json: PlatformAccount, example: sampleAccount },
    faults: [
      ACCOUNT_NOT_FOUND,
      refusal("not_a_builder", "Credit can be granted to builder accounts only."),
      ...refusalsOfCodes("account_deleted"),
    ],
  },
  suspendAccount: {
    at: "POST /console/api/operator/accounts/{id}/suspend",
    summary: "Suspend an account",
    description:
      "A builder's keys stop working, and a host's nodes get no more requests. Suspending a suspended account has no effect.",
    guard: "operator",
    path: ACCOUNT_PATH_PARAMETER,
    body: { fields: ReasonFields, example: { reason: "an unpaid dispute" } },
    answer: {
      description: "The account.",
      json: PlatformAccount,
      example: { ...sampleAccount, suspended_at: SAMPLE_TIME },
    },
    faults: [ACCOUNT_NOT_FOUND, ...refusalsOfCodes("account_deleted")],
  },
  restoreAccount: {
    at: "POST /console/api/operator/accounts/{id}/restore",
    summary: "Restore a suspended account",
    guard: "operator",
    path: ACCOUNT_PATH_PARAMETER,
    body: { fields: ReasonFields, example: { reason: "settled" } },
    answer: { description: "The account.", json: PlatformAccount, example: sampleAccount },
    faults: [ACCOUNT_NOT_FOUND, ...refusalsOfCodes("account_deleted")],
  },
  ...keys.operatorKeyRoutes,
});
