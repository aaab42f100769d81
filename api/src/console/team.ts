/** An account's members, roles, invitations, and history. */
import { z } from "zod";
import { INVITATION_VALID_DAYS, JOINED_ACCOUNTS_MAX, OPEN_INVITATIONS_MAX, TEAM_MEMBERS_MAX } from "../api-limits.ts";
import { AccountKind, Id, makeSampleId, SAMPLE_TIME, Time } from "../common-schemas.ts";
import { TEAM_ACTIONS } from "../enumerations.ts";
import { refusal, refusalsOfCodes } from "../faults.ts";
import { describeRequiredRole, ROLES } from "../roles.ts";
import { declareRoutes } from "../route-declaration.ts";
import { Account, Role, sampleAccount } from "./accounts.ts";
import { CLIENT_AUTO_RETRY_MAX_S, describeAttemptLimit } from "./sign-in.ts";
import { EmailFields, EmailVerificationFields } from "./sign-in-fields.ts";

export const InvitationFields = z.object({
  ...EmailFields.shape,
  role: z.enum(ROLES, `must be ${ROLES.slice(0, -1).join(", ")} or ${ROLES.at(-1)}`),
});
export const RoleFields = z.object({
  role: z.enum(
    ["member", "billing", "viewer"],
    "must be member, billing or viewer. To add an owner, invite the person with the role owner; they become an owner when they accept",
  ),
});
export const InvitationTokenFields = z.object(EmailVerificationFields.shape);

const TeamMember = z.strictObject({
  id: Id("usr"),
  name: z.string(),
  email: z.string(),
  role: Role,
  since: Time,
  you: z.boolean().describe("Whether this is the caller."),
});

const Invitation = z.strictObject({
  id: Id("inv"),
  email: z.string(),
  role: Role,
  invited_by: z.string().describe("The email address of the owner who sent it."),
  created_at: Time,
  expires_at: Time,
});

const NewInvitation = z.strictObject({
  ...Invitation.shape,
  link: z
    .string()
    .nullable()
    .describe("If this platform cannot send email: the link to pass on, shown only once. Else null."),
});

const TeamEvent = z.strictObject({
  at: Time,
  by: z
    .string()
    .nullable()
    .describe("The email address of the person who made the change; null if that identity no longer exists."),
  action: z.enum(TEAM_ACTIONS),
  email: z.string().describe("The person who is affected."),
  role: Role.nullable().describe("The role that was offered, accepted or assigned."),
});

const Team = z.strictObject({
  object: z.literal("team"),
  account: Id("acc"),
  members: z.array(TeamMember).describe("Owners first, then in the order of joining."),
  invitations: z.array(Invitation).describe("Open invitations, newest first."),
  events: z.array(TeamEvent).describe("The last 50 changes, newest first."),
});

const InvitedTo = z.strictObject({
  account: z.strictObject({ kind: AccountKind, name: z.string() }),
  role: Role,
  invited_by: z.string(),
  expires_at: Time,
});

const Removed = z.strictObject({ removed: z.literal(true) });

export const teamResponseSchemas = { Team, TeamMember, TeamEvent, Invitation, NewInvitation, InvitedTo, Removed };

const TOKEN = "The token from the invitation link.";

export const teamRequestSchemas = {
  InviteRequest: {
    fields: InvitationFields,
    words: { email: "The email address to invite.", role: "The role to offer." },
  },
  RoleRequest: { fields: RoleFields, words: { role: "The new role." } },
  InvitationTokenRequest: { fields: InvitationTokenFields, words: { token: TOKEN } },
};

const sampleMember = {
  id: makeSampleId("usr"),
  name: "Ada",
  email: "ada@example.com",
  role: "owner",
  since: SAMPLE_TIME,
  you: true,
};
const sampleInvitation = {
  id: makeSampleId("inv"),
  email: "grace@example.com",
  role: "viewer",
  invited_by: "ada@example.com",
  created_at: SAMPLE_TIME,
  expires_at: SAMPLE_TIME + INVITATION_VALID_DAYS * 86_400,
};
const sampleEvent = {
  at: SAMPLE_TIME,
  by: "ada@example.com",
  action: "invited",
  email: "grace@example.com",
  role: "viewer",
};

const MEMBER_PATH = { id: "The person's ID, `usr_…`." };
const NOBODY = refusal("not_found", "No team member has this ID.");
const TOO_OFTEN = refusal("rate_limit_requests", describeAttemptLimit(CLIENT_AUTO_RETRY_MAX_S));
const NO_INVITATION = refusal(
  "not_found",
  `This invitation was already used or withdrawn, or is older than ${INVITATION_VALID_DAYS} days. Ask an owner of the account for a new one.`,
);
const SAMPLE_TOKEN = { token: "the link's token" };

const team = declareRoutes({
  getTeam: {
    at: "GET /console/api/team",
    summary: "Get the account's team",
    guard: "account",
    answer: {
      description: "The members, open invitations and recent changes.",
      json: Team,
      example: {
        object: "team",
        account: makeSampleId("acc"),
        members: [sampleMember],
        invitations: [sampleInvitation],
        events: [sampleEvent],
      },
    },
  },
  inviteToTeam: {
    at: "POST /console/api/team/invitations",
    summary: "Invite a person",
    description: `Emails a link that works once, for ${INVITATION_VALID_DAYS} days, and only for a person who signs in with that email address. It replaces an open invitation to the same address. The response does not reveal whether the address is known.`,
    guard: "account",
    needs: "own",
    body: { fields: InvitationFields, example: { email: "grace@example.com", role: "viewer" } },
    answer: {
      status: 201,
      description: "The invitation.",
      json: NewInvitation,
      example: { ...sampleInvitation, link: null },
    },
    faults: [
      refusal(
        "limit_reached",
        `Limit reached: an account has at most ${TEAM_MEMBERS_MAX} members and ${OPEN_INVITATIONS_MAX} open invitations.`,
      ),
      ...refusalsOfCodes("already_in_team"),
      TOO_OFTEN,
    ],
  },
  withdrawInvitation: {
    at: "DELETE /console/api/team/invitations/{id}",
    summary: "Withdraw an invitation",
    description: "Withdraws the invitation. Its link stops working.",
    guard: "account",
    needs: "own",
    path: { id: "The invitation ID, `inv_…`." },
    answer: { description: "The invitation is withdrawn.", json: Removed, example: { removed: true } },
    faults: [refusal("not_found", "No open invitation has this ID.")],
  },
  changeRole: {
    at: "PATCH /console/api/team/members/{id}",
    summary: "Change a member's role",
    description:
      "Nobody can be made an owner this way: owners are liable for the account's debts, so they are invited and have to accept.",
    guard: "account",
    needs: "own",
    path: MEMBER_PATH,
    body: { fields: RoleFields, example: { role: "member" } },
    answer: { description: "The member.", json: TeamMember, example: { ...sampleMember, role: "member", you: false } },
    faults: [NOBODY, ...refusalsOfCodes("last_owner", "account_owes"), TOO_OFTEN],
  },
  removeFromTeam: {
    at: "DELETE /console/api/team/members/{id}",
    summary: "Remove a member, or leave the team",
    description:
      "Owners can remove anyone; everyone can remove themselves. API keys that the person created keep working.",
    guard: "account",
    needs: "read",
    path: MEMBER_PATH,
    answer: { description: "The person is removed immediately.", json: Removed, example: { removed: true } },
    faults: [
      NOBODY,
      refusal("role_required", describeRequiredRole("own")),
      ...refusalsOfCodes("last_owner", "account_owes"),
    ],
  },
});

const joining = declareRoutes({
  readInvitation: {
    at: "POST /console/api/team/invitation",
    summary: "Get an invitation",
    description: "For a person who is signed in with the invited email address.",
    guard: "signedIn",
    body: { fields: InvitationTokenFields, example: SAMPLE_TOKEN },
    answer: {
      description: "The account and the offered role.",
      json: InvitedTo,
      example: {
        account: { kind: "builder", name: "Work" },
        role: "viewer",
        invited_by: "ada@example.com",
        expires_at: sampleInvitation.expires_at,
      },
    },
    faults: [
      NO_INVITATION,
      ...refusalsOfCodes("invitation_not_yours", "email_not_verified", "account_suspended"),
      TOO_OFTEN,
    ],
  },
  acceptInvitation: {
    at: "POST /console/api/team/accept",
    summary: "Accept an invitation",
    description: "Works once. An existing member gets the offered role; an owner stays an owner.",
    guard: "signedIn",
    body: { fields: InvitationTokenFields, example: SAMPLE_TOKEN },
    answer: {
      description: "The account that the person now belongs to.",
      json: Account,
      example: { ...sampleAccount, role: "viewer", may: ["read"] },
    },
    faults: [
      NO_INVITATION,
      ...refusalsOfCodes("invitation_not_yours", "email_not_verified", "account_suspended"),
      refusal(
        "limit_reached",
        `Limit reached: the team already has ${TEAM_MEMBERS_MAX} members, or you already belong to ${JOINED_ACCOUNTS_MAX} teams or own 20 accounts.`,
      ),
      TOO_OFTEN,
    ],
  },
});

export const teamRoutes = { ...team, ...joining };
