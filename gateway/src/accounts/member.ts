/** Which account a signed-in identity acts for where only a builder's will do, and what it is told when there is none. */
import type { Account } from "./accounts.ts";

export type NoMember = "no_account" | "account_suspended" | "member_only";

export type Membership = { kind: "member"; account: Account } | { kind: "none"; why: NoMember };

/**
 * The oldest builder account that is not suspended. An operator needs no account, so one without any is told that the
 * endpoint is for members, not that something is missing.
 */
export function chooseMember(accounts: Account[], { operator }: { operator: boolean }): Membership {
  if (accounts.length === 0) return { kind: "none", why: operator ? "member_only" : "no_account" };
  const active = accounts.filter((account) => !account.suspended);
  if (active.length === 0) return { kind: "none", why: "account_suspended" };
  const account = active.find(({ kind }) => kind === "builder");
  return account === undefined ? { kind: "none", why: "member_only" } : { kind: "member", account };
}
