/**
 * Chooses the account that a signed-in identity acts for, or the reason why there is none. The caller may specify the
 * account. Otherwise the identity's only active account of that kind is used.
 */
import type { Uuid } from "../base/ids.ts";
import type { AccountKind } from "../base/stored-enumerations.ts";
import type { Membership } from "./accounts.ts";

/**
 * `no_account`: the identity has none. `account_suspended`: the specified account, or all of the identity's, are
 * suspended. `other_kind`: it has no account of this kind. `unknown_account`: the specified account does not belong to
 * the identity. `several_accounts`: the caller must specify one.
 */
type CannotAct = "no_account" | "account_suspended" | "other_kind" | "unknown_account" | "several_accounts";

type ActingAccount = { kind: "acts"; account: Membership } | { kind: "cannot"; why: CannotAct };

interface ActingQuestion {
  accounts: Membership[];
  /** The kind of account that the request needs. Undefined: any kind. */
  kind: AccountKind | undefined;
  /** The account that the caller specified. */
  named: Uuid | undefined;
  operator: boolean;
}

export function chooseActingAccount({ accounts, kind, named, operator }: ActingQuestion): ActingAccount {
  // Operators need no account. An operator without one gets `other_kind`, the error for an account of the wrong kind.
  if (accounts.length === 0) return cannot(operator ? "other_kind" : "no_account");
  const active = accounts.filter((account) => !account.suspended);
  if (active.length === 0) return cannot("account_suspended");
  if (named !== undefined)
    return actAs(
      accounts.find(({ id }) => id === named),
      kind,
    );
  const [first, second] = active.filter((account) => isOf(account, kind));
  if (first === undefined) return cannot("other_kind");
  return second === undefined ? { kind: "acts", account: first } : cannot("several_accounts");
}

function actAs(account: Membership | undefined, kind: AccountKind | undefined): ActingAccount {
  if (account === undefined) return cannot("unknown_account");
  if (!isOf(account, kind)) return cannot("other_kind");
  return account.suspended ? cannot("account_suspended") : { kind: "acts", account };
}

const isOf = (account: Membership, kind: AccountKind | undefined): boolean =>
  kind === undefined || account.kind === kind;

const cannot = (why: CannotAct): ActingAccount => ({ kind: "cannot", why });
