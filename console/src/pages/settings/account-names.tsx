/** The names of one's accounts. */
import { useState } from "react";
import type { Account } from "../../api/types.ts";
import { useRenameAccount } from "../../data/security.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Dialog, DialogActions } from "../../ui/dialog.tsx";
import { errorOfField, TextField } from "../../ui/field.tsx";
import { Form, textOf } from "../../ui/form.tsx";
import { toast } from "../../ui/toast.tsx";

export function AccountNames({ accounts }: { accounts: Account[] }) {
  const [renaming, setRenaming] = useState<Account>();
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
      {renaming !== undefined && <RenameDialog account={renaming} onClose={() => setRenaming(undefined)} />}
    </Card>
  );
}

function RenameDialog({ account, onClose }: { account: Account; onClose: () => void }) {
  const rename = useRenameAccount();
  const submit = (fields: FormData): void =>
    rename.mutate(
      { id: account.id, name: textOf(fields, "name").trim() },
      {
        onSuccess: ({ name }) => {
          onClose();
          toast(`Renamed to ${name}`);
        },
      },
    );
  return (
    <Dialog open onClose={onClose} title="Rename account">
      <Form onSubmit={submit} error={rename.error} fields={["name"]}>
        <TextField
          label="Name"
          name="name"
          required
          maxLength={200}
          autoComplete="off"
          defaultValue={account.name}
          error={errorOfField(rename.error, "name")}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={rename.isPending}>
            Rename
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  );
}
