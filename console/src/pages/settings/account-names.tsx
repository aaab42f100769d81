/** Lists the user's accounts and renames them. */
import { useState } from "react";
import type { Account } from "../../api/answer-types.ts";
import { useRenameAccount } from "../../data/sign-in-security.ts";
import { Button } from "../../ui/button.tsx";
import { RenameDialog } from "../../ui/rename-dialog.tsx";
import { AccountList } from "../accounts/account-list.tsx";

export function AccountNames({ accounts }: { accounts: Account[] }) {
  const [renaming, setRenaming] = useState<Account>();
  const rename = useRenameAccount();
  return (
    <>
      <AccountList
        title="Accounts"
        accounts={accounts}
        about={({ kind, id, role }) => (
          <>
            {kind === "builder" ? "Builder" : "Host"} · {role}
            <span className="max-sm:hidden"> · </span>
            <code className="font-mono max-sm:block">{id}</code>
          </>
        )}
        action={(account) =>
          account.may.includes("own") && (
            <Button size="small" aria-label={`Rename ${account.name}`} onClick={() => setRenaming(account)}>
              Rename
            </Button>
          )
        }
      />
      {renaming !== undefined && (
        <RenameDialog title="Rename account" of={renaming} rename={rename} onClose={() => setRenaming(undefined)} />
      )}
    </>
  );
}
