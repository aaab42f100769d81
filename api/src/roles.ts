/** The roles in an account and their permissions. A route names the permission it needs. */

/** Owners are responsible for the account and its debts. People with other roles were invited. */
export const ROLES = ["owner", "member", "billing", "viewer"] as const;
export type Role = (typeof ROLES)[number];

/**
 * Permissions. `read`: view everything. `work`: manage keys, host tokens and nodes. `pay`: buy credit. `own`: manage
 * the account's members.
 */
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

/** The permission that a route needs. If a route that changes something declares none, only owners may call it. */
export function needOf({ at, needs }: { at: string; needs?: Need }): Need {
  return needs ?? (at.startsWith("GET ") ? "read" : "own");
}
