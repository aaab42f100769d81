/** Who is signed in, their accounts, and where else they are signed in. */
import { z } from "zod";
import { ACCOUNTS_MAX } from "../bounds.ts";
import { codes, refusal } from "../faults.ts";
import { NEEDS, ROLES, roleNeeded } from "../roles.ts";
import { routes } from "../route.ts";
import { ACCOUNT_KINDS } from "../states.ts";
import { AccountKind, Count, Id, listOf, SAMPLE_TIME, sampleId, sampleList, Time } from "../values.ts";
import { Name } from "./sign-in-fields.ts";

export const AccountFields = z.object({
  kind: z.enum(ACCOUNT_KINDS, 'must be "builder" or "host"'),
  name: Name,
});
export const RenameFields = z.object({ name: Name });

export const Identity = z
  .strictObject({
    id: Id("usr"),
    email: z.string(),
    name: z.string(),
    operator: z.boolean().describe("Whether they run the platform."),
    email_verified: z.boolean(),
    two_factor: z.boolean().describe("Whether a code is asked for at sign-in."),
  })
  .describe("A person who signs in.");

export const Role = z
  .enum(ROLES)
  .describe(
    "What a person may do in an account. `owner`: everything. `member`: keys, host tokens and nodes. `billing`: buys credit. `viewer`: sees. All of them see what the others see.",
  );

export const Account = z.strictObject({
  id: Id("acc"),
  kind: AccountKind,
  name: z.string(),
  suspended: z.boolean(),
  role: Role.describe("The caller's."),
  may: z.array(z.enum(NEEDS)).describe("What the role allows: `read`, `work`, `pay`, `own`."),
});

const Me = z.strictObject({ identity: Identity, accounts: z.array(Account).describe("The oldest first.") });

const Session = z.strictObject({
  id: Id("ses"),
  current: z.boolean().describe("Whether it is the one that asks."),
  address: z.string().nullable(),
  user_agent: z.string().nullable(),
  created_at: Time,
  expires_at: Time,
});

const SessionList = listOf(Session);
const SessionsEnded = z.strictObject({ ended: Count.describe("How many were ended.") });

export const answers = { Identity, Account, AccountKind, Role, Me, Session, SessionList, SessionsEnded };

export const requests = {
  OpenAccountRequest: {
    fields: AccountFields,
    words: { kind: "A builder calls models, a host serves them.", name: "For people." },
  },
  RenameAccountRequest: { fields: RenameFields, words: {} },
};

export const sampleIdentity = {
  id: sampleId("usr"),
  email: "ada@example.com",
  name: "Ada",
  operator: false,
  email_verified: true,
  two_factor: false,
};
export const sampleAccount = {
  id: sampleId("acc"),
  kind: "builder",
  name: "Work",
  suspended: false,
  role: "owner",
  may: NEEDS,
};
const sampleSession = {
  id: sampleId("ses"),
  current: true,
  address: "203.0.113.7",
  user_agent: "Mozilla/5.0",
  created_at: SAMPLE_TIME,
  expires_at: SAMPLE_TIME + 604_800,
};

export const accountRoutes = routes({
  getMe: {
    at: "GET /console/api/me",
    summary: "Read who is signed in and which accounts they have",
    guard: "signedIn",
    answer: {
      description: "The identity and its accounts.",
      json: Me,
      example: { identity: sampleIdentity, accounts: [sampleAccount] },
    },
  },
  openAccount: {
    at: "POST /console/api/accounts",
    summary: "Open an account",
    guard: "signedIn",
    body: { fields: AccountFields, example: { kind: "builder", name: "Work" } },
    answer: { status: 201, description: "The account.", json: Account, example: sampleAccount },
    faults: [
      ...codes("account_suspended"),
      refusal("limit_reached", `You have ${ACCOUNTS_MAX} accounts, and may have no more.`),
    ],
  },
  renameAccount: {
    at: "PATCH /console/api/accounts/{id}",
    summary: "Rename an account",
    description: "For its owners.",
    guard: "signedIn",
    path: { id: "The account's id, `acc_…`." },
    body: { fields: RenameFields, example: { name: "Work" } },
    answer: { description: "The account.", json: Account, example: sampleAccount },
    faults: [
      refusal("not_found", "No such account of yours."),
      refusal("role_required", roleNeeded("own")),
      ...codes("account_suspended"),
    ],
  },
  listSessions: {
    at: "GET /console/api/sessions",
    summary: "List where one is signed in",
    description: "The newest first, in one page: there are at most 100, and a new one ends the oldest.",
    guard: "signedIn",
    answer: { description: "The sessions.", json: SessionList, example: sampleList(sampleSession) },
  },
  endOtherSessions: {
    at: "DELETE /console/api/sessions",
    summary: "Sign out everywhere else",
    guard: "signedIn",
    answer: { description: "All but this one are over.", json: SessionsEnded, example: { ended: 2 } },
  },
  endSession: {
    at: "DELETE /console/api/sessions/{id}",
    summary: "End one session",
    guard: "signedIn",
    path: { id: "The session's id, `ses_…`." },
    answer: { description: "It is over.", json: SessionsEnded, example: { ended: 1 } },
    faults: [refusal("not_found", "No such session of yours.")],
  },
});
