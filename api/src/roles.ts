/** Who may do what in an account. A route says what it needs; a role has it or not. */

/** An owner answers for the account and for what it owes; the others were invited to it. */
export const ROLES = ["owner", "member", "billing", "viewer"] as const;
export type Role = (typeof ROLES)[number];

/** `read`: see. `work`: keys, host tokens, nodes. `pay`: buy credit. `own`: who belongs to the account. */
export const NEEDS = ["read", "work", "pay", "own"] as const;
export type Need = (typeof NEEDS)[number];

const GRANTED: Record<Role, readonly Need[]> = {
  owner: NEEDS,
  member: ["read", "work"],
  billing: ["read", "pay"],
  viewer: ["read"],
};

export const grantsOf = (role: Role): readonly Need[] => GRANTED[role];
export const mayDo = (role: Role, need: Need): boolean => GRANTED[role].includes(need);
export const rolesFor = (need: Need): Role[] => ROLES.filter((role) => mayDo(role, need));

export const roleNeeded = (need: Need): string =>
  `This action needs the role ${rolesFor(need).join(" or ")} in the account. Ask one of its owners to change your role.`;

/** What a route needs. One that changes something and does not say is for owners alone. */
export function needOf({ at, needs }: { at: string; needs?: Need }): Need {
  return needs ?? (at.startsWith("GET ") ? "read" : "own");
}
