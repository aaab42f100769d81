/** Compares a person's permissions between two reads. Pure. */
import type { Account, Me } from "../api/answer-types.ts";

type Seen = {
  identity: Pick<Me["identity"], "operator">;
  accounts: Pick<Account, "id" | "name" | "role" | "suspended">[];
};

interface ChangedRights {
  /** A sentence that describes the change. */
  text: string;
  /** Whether the person may no longer see something that was visible. */
  lost: boolean;
}

/** Returns undefined if nothing changed, or if the person only gained permissions in other accounts. */
export function findPermissionChange(before: Seen, now: Seen): ChangedRights | undefined {
  const after = ({ id }: { id: string }) => now.accounts.find((account) => account.id === id);
  const lost = before.accounts.find((account) => after(account) === undefined);
  if (lost !== undefined) return { text: `You no longer have access to ${lost.name}.`, lost: true };
  const isSuspended = before.accounts.some((account) => !account.suspended && after(account)?.suspended === true);
  if (isSuspended || (before.identity.operator && !now.identity.operator)) {
    return { text: "Your access has changed. Some pages are no longer available.", lost: true };
  }
  // Finds an account in which the role changed. The page can stay open (`lost: false`), because every role may read
  // everything.
  const moved = before.accounts.find((account) => after(account)?.role !== account.role);
  return moved && { text: `Your role in ${moved.name} is now ${after(moved)?.role}.`, lost: false };
}
