/** The roles in an account and their permissions. A route names the permission it needs. */

/** Owners are responsible for the account and its debts. People with other roles were invited. */
export const ROLES = ["owner", "member", "billing", "viewer"] as const;
export type Role = (typeof ROLES)[number];

/**
 * Permissions. `read`: view everything. `work`: manage keys, host tokens and nodes. `pay`: buy credit. `own`: manage
 * the account's members.
 */
export const PERMISSIONS = ["read", "work", "pay", "own"] as const;
export type Permission = (typeof PERMISSIONS)[number];

const ROLE_PERMISSIONS: Record<Role, readonly Permission[]> = {
  owner: PERMISSIONS,
  member: ["read", "work"],
  billing: ["read", "pay"],
  viewer: ["read"],
};

export const listPermissions = (role: Role): readonly Permission[] => ROLE_PERMISSIONS[role];
export const roleHasPermission = (role: Role, need: Permission): boolean => ROLE_PERMISSIONS[role].includes(need);
export const listRolesWithPermission = (need: Permission): Role[] =>
  ROLES.filter((role) => roleHasPermission(role, need));

export const describeRequiredRole = (need: Permission): string =>
  `This action needs the role ${listRolesWithPermission(need).join(" or ")} in the account. Ask one of its owners to change your role.`;

/** The permission that a route needs. If a route that changes something declares none, only owners may call it. */
export function findRequiredPermission({ at, needs }: { at: string; needs?: Permission }): Permission {
  return needs ?? (at.startsWith("GET ") ? "read" : "own");
}
