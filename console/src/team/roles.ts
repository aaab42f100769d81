/** Describes roles in words. The API decides which actions a role may do. */
import type { AccountKind, Permission, Role } from "../api/answer-types.ts";

export const ROLES: readonly Role[] = ["owner", "member", "billing", "viewer"];

const ROLE_DESCRIPTIONS: Record<AccountKind, Record<Role, string>> = {
  builder: {
    owner: "Full access, including managing the team. Owners are liable for the account's debts.",
    member: "Can view everything and manage API keys.",
    billing: "Can view everything and buy credits.",
    viewer: "Can view everything, but not make changes.",
  },
  host: {
    owner:
      "Full access, including managing the team. If an owner's builder account has debts, they are deducted from this account's earnings.",
    member: "Can view everything and manage nodes and host tokens.",
    billing: "Can view everything, such as earnings, but not make changes.",
    viewer: "Can view everything, but not make changes.",
  },
};

export const describeRole = (role: Role, kind: AccountKind): string => ROLE_DESCRIPTIONS[kind][role];

const PERMITTED_ROLES: Record<Permission, string> = {
  read: "anyone in the team",
  work: "an owner or a member",
  pay: "an owner or a billing member",
  own: "an owner",
};

/** For example "Only an owner or a member can change this." */
export const describePermittedRoles = (need: Permission): string => PERMITTED_ROLES[need];
