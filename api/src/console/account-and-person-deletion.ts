/** The export and the deletion of an account, and of a person. */
import { z } from "zod";
import { AccountKind, AsOfField, Count, Id, Money, makeSampleId, SAMPLE_TIME } from "../common-schemas.ts";
import { refusal } from "../faults.ts";
import { describeRequiredRole } from "../roles.ts";
import { declareRoutes } from "../route-declaration.ts";
import { SIGN_IN_REFUSALS } from "./sign-in.ts";
import { SecondFactorCodeFields } from "./sign-in-fields.ts";

const Confirmation = z.string("must be a string").max(254, "must have at most 254 characters");
const Code = SecondFactorCodeFields.shape.code.nullish();
export const DeleteAccountFields = z.object({ name: Confirmation, code: Code });
export const DeletePersonFields = z.object({ email: Confirmation, code: Code });

export const DELETION_NAME_RULE = "must be exactly the account's name";
export const EMAIL_RULE = "must be your email address";
export const DELETION_CODE_RULE =
  "must be a code of your authenticator app or a backup code, because your second factor is on";

const DeletionPlan = z.strictObject({
  object: z.literal("account_deletion"),
  ...AsOfField,
  account: Id("acc"),
  kind: AccountKind,
  given_up_micro: Money.describe(
    "A builder's credit, or a host's earnings that are not paid out. Who deletes the account gives it up. Negative: what the account owes.",
  ),
  keys: Count.describe("API keys and host tokens that are revoked."),
  nodes: Count.describe("Nodes that are retired."),
  people: Count.describe("People in the team."),
  blockers: z.array(z.string()).describe("Why the account cannot be deleted now, in sentences. Empty: it can be."),
});
const AccountDeleted = z.strictObject({ deleted: Id("acc") });
const PersonDeleted = z.strictObject({ deleted: Id("usr") });

export const deletionResponseSchemas = { DeletionPlan, AccountDeleted, PersonDeleted };

const CODE_WORDS = "Where the second factor is on: a code of the authenticator app or a backup code.";
export const deletionRequestSchemas = {
  DeleteAccountRequest: {
    fields: DeleteAccountFields,
    words: { name: "The account's name, as confirmation.", code: CODE_WORDS },
  },
  DeletePersonRequest: {
    fields: DeletePersonFields,
    words: { email: "Your email address, as confirmation.", code: CODE_WORDS },
  },
};

const ACCOUNT_PATH = { id: "The account ID, `acc_…`." };
const OWN = [
  refusal("not_found", "You have no account with this ID."),
  refusal("role_required", describeRequiredRole("own")),
];
const FACTOR = [SIGN_IN_REFUSALS.wrong_code, SIGN_IN_REFUSALS.too_many_attempts];

export const deletionRoutes = declareRoutes({
  exportAccount: {
    at: "GET /console/api/accounts/{id}/export.zip",
    summary: "Export everything that an account has",
    description:
      "One ZIP file. A builder's has settings, team, keys (without secrets), every request, the statement, usage by day and model, payments and an invoice for each month; a host's has nodes, tokens, every earning, withheld shares, payouts and a statement for each month. Prompts and answers are never stored. Only an owner can export an account.",
    guard: "signedIn",
    path: ACCOUNT_PATH,
    answer: {
      description: "The account's data.",
      zip: { description: "CSV and JSON files, and a PDF file for each month." },
      headers: ["content-disposition"],
    },
    faults: OWN,
  },
  getDeletion: {
    at: "GET /console/api/accounts/{id}/deletion",
    summary: "See what deleting an account would do",
    description: "Deletes nothing. Only for owners.",
    guard: "signedIn",
    path: ACCOUNT_PATH,
    answer: {
      description:
        "The credit or earnings that are lost, the keys and nodes that stop working, and the reasons why the account cannot be deleted now.",
      json: DeletionPlan,
      example: {
        object: "account_deletion",
        account: makeSampleId("acc"),
        kind: "builder",
        given_up_micro: "1250000.000000",
        keys: 2,
        nodes: 0,
        people: 3,
        blockers: [],
        as_of: SAMPLE_TIME,
      },
    },
    faults: OWN,
  },
  deleteAccount: {
    at: "POST /console/api/accounts/{id}/delete",
    summary: "Delete an account",
    description:
      "Cannot be undone. Keys and tokens are revoked at once, nodes are retired, everybody leaves the team, and settings, notifications, names, labels and the saved card are deleted. Credit and earnings that are left are given up. Request records and transfers stay in the ledger under the account's ID, without names, as long as the platform keeps its books.",
    guard: "signedIn",
    path: ACCOUNT_PATH,
    body: { fields: DeleteAccountFields, example: { name: "Work", code: "123456" } },
    answer: { description: "The account is deleted.", json: AccountDeleted, example: { deleted: makeSampleId("acc") } },
    faults: [
      ...OWN,
      ...FACTOR,
      refusal("account_owes", "The account's balance is negative. It can be deleted once the debt is paid."),
      refusal(
        "deletion_blocked",
        "The account has a request in flight, an unfinished payment or payout, or a node in quarantine. The message names it.",
      ),
    ],
  },
  exportPerson: {
    at: "GET /console/api/me/export.json",
    summary: "Export what is stored about you",
    description: "Your profile, settings, sessions and teams. Accounts that you own are exported one by one.",
    guard: "signedIn",
    answer: {
      description: "The person's data.",
      file: { description: "One JSON file." },
      headers: ["content-disposition"],
    },
  },
  deletePerson: {
    at: "POST /console/api/me/delete",
    summary: "Delete yourself",
    description:
      "Cannot be undone. Your sessions end, you leave all teams, and your name, email address and ways to sign in are deleted. Accounts that only you own are deleted or handed over first. Your actions as an operator stay in the audit log with your address.",
    guard: "signedIn",
    body: { fields: DeletePersonFields, example: { email: "ada@example.com", code: "123456" } },
    answer: {
      description: "You are deleted and signed out.",
      json: PersonDeleted,
      example: { deleted: makeSampleId("usr") },
      headers: ["set-cookie"],
    },
    faults: [
      ...FACTOR,
      refusal("last_owner", "You are the only owner of an account. Delete it first, or invite another owner."),
      refusal("account_owes", "An account that you own owes money. Its owners cannot leave until it is paid."),
      refusal("deletion_blocked", "You are the only operator. Create another one first."),
    ],
  },
});
