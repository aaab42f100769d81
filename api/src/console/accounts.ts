/** Console routes for the signed-in person, their accounts, and their sessions. */
import { z } from "zod";
import { ACCOUNTS_PER_IDENTITY_MAX } from "../api-limits.ts";
import {
  AccountKind,
  Count,
  Id,
  makeListSchema,
  makeSampleId,
  SAMPLE_TIME,
  sampleList,
  Time,
} from "../common-schemas.ts";
import { ACCOUNT_KINDS, SCRIPT_ACCESS } from "../enumerations.ts";
import { refusal, refusalsOfCodes } from "../faults.ts";
import { describeRequiredRole, PERMISSIONS, ROLES } from "../roles.ts";
import { declareRoutes } from "../route-declaration.ts";
import { LocaleField, TimeZoneField } from "./preference-fields.ts";
import { DisplayName } from "./sign-in-fields.ts";

export const AccountFields = z.object({
  kind: z.enum(ACCOUNT_KINDS, 'must be "builder" or "host"'),
  name: DisplayName,
});
export const RenameFields = z.object({ name: DisplayName });

export const PreferenceFields = z.object({ locale: LocaleField.nullish(), time_zone: TimeZoneField.nullish() });

export const Identity = z
  .strictObject({
    id: Id("usr"),
    email: z.string(),
    name: z.string(),
    operator: z.boolean().describe("Whether the person is an operator of the platform."),
    email_verified: z.boolean(),
    two_factor: z.boolean().describe("Whether sign-in requires a second factor."),
    locale: z
      .string()
      .nullable()
      .describe(
        "The language tag whose number and date formats the person chose, such as `de-DE`; null: the browser's.",
      ),
    time_zone: z
      .string()
      .nullable()
      .describe("The time zone that the person chose, such as `Europe/Berlin`; null: the browser's."),
  })
  .describe("A person who can sign in.");

export const Role = z
  .enum(ROLES)
  .describe(
    "What a person may do in an account. `owner`: everything. `member`: manages keys, host tokens and nodes. `billing`: buys credit. `viewer`: read only. Every role can read everything in the account.",
  );

export const Account = z.strictObject({
  id: Id("acc"),
  kind: AccountKind,
  name: z.string(),
  suspended: z.boolean(),
  role: Role.describe("The caller's role."),
  may: z
    .array(z.enum(PERMISSIONS))
    .describe(
      "The permissions of the role: `read`, `work` (keys, host tokens, nodes), `pay` (buy credit), `own` (manage the team).",
    ),
});

const Me = z.strictObject({ identity: Identity, accounts: z.array(Account).describe("Oldest first.") });

const Session = z.strictObject({
  id: Id("ses"),
  current: z.boolean().describe("Whether this is the session that made the request."),
  address: z.string().nullable(),
  user_agent: z.string().nullable().describe("The browser, or what the script calls itself."),
  script_access: z
    .enum(SCRIPT_ACCESS)
    .nullable()
    .describe("What a session for scripts (`tollgate login`) may do. null: a browser's session."),
  created_at: Time,
  expires_at: Time,
});

const SessionList = makeListSchema(Session);
const SessionsEnded = z.strictObject({ ended: Count.describe("How many sessions were ended.") });

export const accountResponseSchemas = { Identity, Account, AccountKind, Role, Me, Session, SessionList, SessionsEnded };

export const accountRequestSchemas = {
  OpenAccountRequest: {
    fields: AccountFields,
    words: { kind: "A builder calls models; a host serves them.", name: "Display name." },
  },
  RenameAccountRequest: { fields: RenameFields, words: {} },
  PreferencesRequest: {
    fields: PreferenceFields,
    words: {
      locale: "A language tag such as `en-US` or `de-DE`. null or absent: the browser's formats.",
      time_zone:
        "A name of the IANA time zone database, such as `Europe/Berlin`. null or absent: the browser's time zone.",
    },
  },
};

export const sampleIdentity = {
  id: makeSampleId("usr"),
  email: "ada@example.com",
  name: "Ada",
  operator: false,
  email_verified: true,
  two_factor: false,
  locale: null,
  time_zone: "Europe/Berlin",
};
export const sampleAccount = {
  id: makeSampleId("acc"),
  kind: "builder",
  name: "Work",
  suspended: false,
  role: "owner",
  may: PERMISSIONS,
};
const sampleSession = {
  id: makeSampleId("ses"),
  current: true,
  address: "203.0.113.7",
  user_agent: "Mozilla/5.0",
  script_access: null,
  created_at: SAMPLE_TIME,
  expires_at: SAMPLE_TIME + 604_800,
};

export const accountRoutes = declareRoutes({
  getMe: {
    at: "GET /console/api/me",
    summary: "Get the signed-in person and their accounts",
    guard: "signedIn",
    answer: {
      description: "The identity and its accounts.",
      json: Me,
      example: { identity: sampleIdentity, accounts: [sampleAccount] },
    },
  },
  setPreferences: {
    at: "PUT /console/api/me/preferences",
    summary: "Set your number format, date format and time zone",
    description:
      "For the console and for emails to you. Emails are in `en-US` and UTC where you chose nothing. Billing days and months stay in UTC.",
    guard: "signedIn",
    body: { fields: PreferenceFields, example: { locale: "de-DE", time_zone: "Europe/Berlin" } },
    answer: {
      description: "The identity.",
      json: Identity,
      example: { ...sampleIdentity, locale: "de-DE", time_zone: "Europe/Berlin" },
    },
  },
  openAccount: {
    at: "POST /console/api/accounts",
    summary: "Open an account",
    guard: "signedIn",
    body: { fields: AccountFields, example: { kind: "builder", name: "Work" } },
    answer: { status: 201, description: "The account.", json: Account, example: sampleAccount },
    faults: [
      ...refusalsOfCodes("account_suspended"),
      refusal("limit_reached", `Limit reached: you already have ${ACCOUNTS_PER_IDENTITY_MAX} accounts.`),
    ],
  },
  renameAccount: {
    at: "PATCH /console/api/accounts/{id}",
    summary: "Rename an account",
    description: "Only an owner can rename the account.",
    guard: "signedIn",
    path: { id: "The account ID, `acc_…`." },
    body: { fields: RenameFields, example: { name: "Work" } },
    answer: { description: "The account.", json: Account, example: sampleAccount },
    faults: [
      refusal("not_found", "You have no account with this ID."),
      refusal("role_required", describeRequiredRole("own")),
      ...refusalsOfCodes("account_suspended"),
    ],
  },
  listSessions: {
    at: "GET /console/api/sessions",
    summary: "List your sessions",
    description: "Newest first, in one page. A person has at most 100 sessions; signing in again ends the oldest.",
    guard: "signedIn",
    answer: { description: "The sessions.", json: SessionList, example: sampleList(sampleSession) },
  },
  endOtherSessions: {
    at: "DELETE /console/api/sessions",
    summary: "Sign out of all other sessions",
    guard: "signedIn",
    answer: {
      description: "All sessions except the current one are ended.",
      json: SessionsEnded,
      example: { ended: 2 },
    },
  },
  endSession: {
    at: "DELETE /console/api/sessions/{id}",
    summary: "End a session",
    guard: "signedIn",
    path: { id: "The session ID, `ses_…`." },
    answer: { description: "The session is ended.", json: SessionsEnded, example: { ended: 1 } },
    faults: [refusal("not_found", "You have no session with this ID.")],
  },
});
