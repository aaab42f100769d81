/** A note, shown once per page, that says why the person's role does not allow an action. */
import type { AccountKind, Permission } from "../api/answer-types.ts";
import { useChosenAccount } from "../data/signed-in-session.ts";
import { describePermittedRoles } from "./roles.ts";

export function RoleNote({ kind, need }: { kind: AccountKind; need: Permission }) {
  const account = useChosenAccount(kind);
  if (account === undefined || account.may.includes(need)) return null;
  return (
    <p className="mb-4 rounded-md bg-sunken px-3 py-2 text-ink-soft">
      Your role in {account.name} is {account.role}. Only {describePermittedRoles(need)} can make changes here.
    </p>
  );
}
