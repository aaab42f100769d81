/** The names of one's accounts. */
import { useState } from "react";
import type { Account } from "../../api/types.ts";
import { useRenameAccount } from "../../data/security.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { RenameDialog } from "../../ui/rename-dialog.tsx";

export function AccountNames({ accounts }: { accounts: Account[] }) {
  const [renaming, setRenaming] = useState<Account>();
  const rename = useRenameAccount();
  return (
    <Card title="Accounts" flush>
      <ul className="border-t border-line">
        {accounts.map((account) => (
          <li
            key={account.id}
            className="flex items-center justify-between gap-3 border-b border-line px-4 py-2.5 last:border-b-0 sm:px-5"
          >
            <span className="min-w-0">
              <span className="block truncate font-medium">{account.name}</span>
              <span className="text-xs text-ink-soft">
                {account.kind === "builder" ? "Builder" : "Host"} · <code className="font-mono">{account.id}</code>
              </span>
            </span>
            {account.suspended ? (
              <Badge tone="bad">suspended</Badge>
            ) : (
              <Button size="small" aria-label={`Rename ${account.name}`} onClick={() => setRenaming(account)}>
                Rename
              </Button>
            )}
          </li>
        ))}
      </ul>
      {renaming !== undefined && (
        <RenameDialog title="Rename account" of={renaming} rename={rename} onClose={() => setRenaming(undefined)} />
      )}
    </Card>
  );
}
