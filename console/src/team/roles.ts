/** What a role is, in words. What it may do is the API's to say. */
import type { AccountKind, Need, Role } from "../api/types.ts";

export const ROLES: readonly Role[] = ["owner", "member", "billing", "viewer"];

const SAYS: Record<AccountKind, Record<Role, string>> = {
  builder: {
    owner: "Everything, and who is in the team. Answers for what the account owes.",
    member: "Sees everything; creates, changes and revokes API keys.",
    billing: "Sees everything; buys credits.",
    viewer: "Sees everything; changes nothing.",
  },
  host: {
    owner: "Everything, and who is in the team. Earnings are set off against what other accounts of an owner owe.",
    member: "Sees everything; handles nodes and host tokens.",
    billing: "Sees everything. For whoever follows the earnings.",
    viewer: "Sees everything; changes nothing.",
  },
};

export const meaningOf = (role: Role, kind: AccountKind): string => SAYS[kind][role];

const FOR: Record<Need, string> = {
  read: "anybody in the team",
  work: "an owner or a member",
  pay: "an owner or somebody with the role billing",
  own: "an owner",
};

/** "Only an owner or a member can change this." */
export const whoMay = (need: Need): string => FOR[need];
