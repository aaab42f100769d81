/** Who belongs to an account: its people and their roles, invitations, and what changed. */
import { z } from "zod";
import { INVITATION_DAYS, MEMBERSHIPS_MAX, OPEN_INVITATIONS_MAX, TEAM_MAX } from "../bounds.ts";
import { codes, refusal } from "../faults.ts";
import { ROLES, roleNeeded } from "../roles.ts";
import { routes } from "../route.ts";
import { TEAM_ACTIONS } from "../states.ts";
import { AccountKind, Id, SAMPLE_TIME, sampleId, Time } from "../values.ts";
import { Account, Role, sampleAccount } from "./accounts.ts";
import { PATIENCE_S, tooManyAttempts } from "./sign-in.ts";
import { EmailFields, VerifyFields } from "./sign-in-fields.ts";

export const InvitationFields = z.object({
  ...EmailFields.shape,
  role: z.enum(ROLES, `must be ${ROLES.slice(0, -1).join(", ")} or ${ROLES.at(-1)}`),
});
export const RoleFields = z.object({
  role: z.enum(
    ["member", "billing", "viewer"],
    "must be member, billing or viewer. To make somebody an owner, invite them as one: they have to accept it",
  ),
});
export const TokenFields = z.object(VerifyFields.shape);

const TeamMember = z.strictObject({
  id: Id("usr"),
  name: z.string(),
  email: z.string(),
  role: Role,
  since: Time,
  you: z.boolean().describe("Whether it is the one who asks."),
});

const Invitation = z.strictObject({
  id: Id("inv"),
  email: z.string(),
  role: Role,
  invited_by: z.string().describe("An owner's e-mail address."),
  created_at: Time,
  expires_at: Time,
});

const NewInvitation = z.strictObject({
  ...Invitation.shape,
  link: z
    .string()
    .nullable()
    .describe("Where this platform sends no mail: the link to hand over. Shown here and never again. Else null."),
});

const TeamEvent = z.strictObject({
  at: Time,
  by: z.string().nullable().describe("The e-mail address of who did it; null where that identity is gone."),
  action: z.enum(TEAM_ACTIONS),
  email: z.string().describe("Whom it is about."),
  role: Role.nullable().describe("The role that was offered, taken or given."),
});

const Team = z.strictObject({
  object: z.literal("team"),
  account: Id("acc"),
  members: z.array(TeamMember).describe("Owners first, then by how long they have been there."),
  invitations: z.array(Invitation).describe("Those that are open, the newest first."),
  events: z.array(TeamEvent).describe("The last 50 changes, the newest first."),
});

const InvitedTo = z.strictObject({
  account: z.strictObject({ kind: AccountKind, name: z.string() }),
  role: Role,
  invited_by: z.string(),
  expires_at: Time,
});

const Removed = z.strictObject({ removed: z.literal(true) });

export const answers = { Team, TeamMember, TeamEvent, Invitation, NewInvitation, InvitedTo, Removed };

const TOKEN = "Of the invitation's link.";

export const requests = {
  InviteRequest: { fields: InvitationFields, words: { email: "Where the invitation goes.", role: "What it offers." } },
  RoleRequest: { fields: RoleFields, words: { role: "The new one." } },
  InvitationTokenRequest: { fields: TokenFields, words: { token: TOKEN } },
};

const sampleMember = {
  id: sampleId("usr"),
  name: "Ada",
  email: "ada@example.com",
  role: "owner",
  since: SAMPLE_TIME,
  you: true,
};
const sampleInvitation = {
  id: sampleId("inv"),
  email: "grace@example.com",
  role: "viewer",
  invited_by: "ada@example.com",
  created_at: SAMPLE_TIME,
  expires_at: SAMPLE_TIME + INVITATION_DAYS * 86_400,
};
const sampleEvent = {
  at: SAMPLE_TIME,
  by: "ada@example.com",
  action: "invited",
  email: "grace@example.com",
  role: "viewer",
};

const MEMBER_PATH = { id: "The person's id, `usr_…`." };
const NOBODY = refusal("not_found", "Nobody with that id is in the team.");
const TOO_OFTEN = refusal("rate_limit_requests", tooManyAttempts(PATIENCE_S));
const NO_INVITATION = refusal(
  "not_found",
  `This invitation was used or withdrawn, or is older than ${INVITATION_DAYS} days. Ask for another.`,
);
const SAMPLE_TOKEN = { token: "the link's token" };

const team = routes({
  getTeam: {
    at: "GET /console/api/team",
    summary: "Read who belongs to the account",
    guard: "account",
    answer: {
      description: "Its people, open invitations and the last changes.",
      json: Team,
      example: {
        object: "team",
        account: sampleId("acc"),
        members: [sampleMember],
        invitations: [sampleInvitation],
        events: [sampleEvent],
      },
    },
  },
  inviteToTeam: {
    at: "POST /console/api/team/invitations",
    summary: "Invite somebody",
    description: `A link is mailed that works once, for ${INVITATION_DAYS} days, for whoever signs in with that e-mail address. It takes the place of an open invitation to the same address. The answer does not tell whether anybody here has the address.`,
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
        `An account has at most ${TEAM_MAX} people and ${OPEN_INVITATIONS_MAX} open invitations, and this one has as many.`,
      ),
      ...codes("already_in_team"),
      TOO_OFTEN,
    ],
  },
  withdrawInvitation: {
    at: "DELETE /console/api/team/invitations/{id}",
    summary: "Withdraw an invitation",
    description: "Its link opens nothing any more.",
    guard: "account",
    needs: "own",
    path: { id: "The invitation's id, `inv_…`." },
    answer: { description: "It is withdrawn.", json: Removed, example: { removed: true } },
    faults: [refusal("not_found", "No such open invitation.")],
  },
  changeRole: {
    at: "PATCH /console/api/team/members/{id}",
    summary: "Change somebody's role",
    description:
      "Nobody becomes an owner by this: owners answer for what the account owes, so they are invited and accept it.",
    guard: "account",
    needs: "own",
    path: MEMBER_PATH,
    body: { fields: RoleFields, example: { role: "member" } },
    answer: { description: "The person.", json: TeamMember, example: { ...sampleMember, role: "member", you: false } },
    faults: [NOBODY, ...codes("last_owner", "account_owes"), TOO_OFTEN],
  },
  removeFromTeam: {
    at: "DELETE /console/api/team/members/{id}",
    summary: "Remove somebody, or leave",
    description: "Owners remove anybody; everybody removes themselves. Keys that they made go on working.",
    guard: "account",
    needs: "read",
    path: MEMBER_PATH,
    answer: { description: "They are out, at once.", json: Removed, example: { removed: true } },
    faults: [NOBODY, refusal("role_required", roleNeeded("own")), ...codes("last_owner", "account_owes")],
  },
});

const joining = routes({
  readInvitation: {
    at: "POST /console/api/team/invitation",
    summary: "Read what one is invited to",
    description: "For whoever is signed in with the e-mail address that was invited.",
    guard: "signedIn",
    body: { fields: TokenFields, example: SAMPLE_TOKEN },
    answer: {
      description: "What accepting it would give.",
      json: InvitedTo,
      example: {
        account: { kind: "builder", name: "Work" },
        role: "viewer",
        invited_by: "ada@example.com",
        expires_at: sampleInvitation.expires_at,
      },
    },
    faults: [NO_INVITATION, ...codes("invitation_not_yours", "email_not_verified", "account_suspended"), TOO_OFTEN],
  },
  acceptInvitation: {
    at: "POST /console/api/team/accept",
    summary: "Accept an invitation",
    description: "Once. Who is in the team already gets the role that was offered; an owner stays one.",
    guard: "signedIn",
    body: { fields: TokenFields, example: SAMPLE_TOKEN },
    answer: {
      description: "The account that they belong to now.",
      json: Account,
      example: { ...sampleAccount, role: "viewer", may: ["read"] },
    },
    faults: [
      NO_INVITATION,
      ...codes("invitation_not_yours", "email_not_verified", "account_suspended"),
      refusal(
        "limit_reached",
        `The team has ${TEAM_MAX} people, or you belong to ${MEMBERSHIPS_MAX} teams or own 20 accounts; there may be no more.`,
      ),
      TOO_OFTEN,
    ],
  },
});

export const teamRoutes = { ...team, ...joining };
