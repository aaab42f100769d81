/** Opening an account, and choosing among those there are. */
import { useMutation } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Code, Cpu } from "lucide-react";
import { useState } from "react";
import { actFor } from "../../api/acting.ts";
import { api, ask } from "../../api/client.ts";
import type { Account, AccountKind } from "../../api/types.ts";
import { refreshSession, switchAccount, useMe } from "../../data/session.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Card, PageHeader } from "../../ui/card.tsx";
import { classes } from "../../ui/classes.ts";
import { errorOfField, TextField } from "../../ui/field.tsx";
import { Form, textOf } from "../../ui/form.tsx";
import { Notice } from "../../ui/notice.tsx";
import { toastError } from "../../ui/toast.tsx";

const KINDS = {
  builder: { title: "Builder", icon: Code, says: "Call models through the API. Prepaid, charged by the token." },
  host: { title: "Host", icon: Cpu, says: "Serve models on your own machines and be paid for every request." },
} as const;

const HOME = { builder: "/overview", host: "/host" } as const;

export function OpenAccountPage() {
  const { identity, accounts } = useMe();
  const { kind: asked = "builder" } = useSearch({ from: "/app/open-account" });
  const [kind, setKind] = useState<AccountKind>(asked);
  const navigate = useNavigate();
  const suspended = accounts.some((account) => account.suspended);
  const open = useMutation({
    mutationFn: async (fields: FormData) => {
      const body = { kind, name: textOf(fields, "name").trim() };
      actFor(await ask(api.POST("/console/api/accounts", { body })));
      await refreshSession();
      await navigate({ to: HOME[kind] });
    },
  });
  return (
    <div className="mx-auto max-w-xl">
      <PageHeader
        title={accounts.length === 0 ? "Open your first account" : "Accounts"}
        {...(!suspended && { about: "You can open more later, of either kind." })}
      />
      <div className="flex flex-col gap-5">
        {suspended && (
          <Notice tone="bad" title="An account of yours is suspended">
            It cannot be used, and no other can be opened beside it. Ask the operators of the platform.
          </Notice>
        )}
        {accounts.length > 0 && <Owned accounts={accounts} />}
        {!suspended && (
          <Card {...(accounts.length > 0 && { title: "Open another account" })}>
            <Form onSubmit={open.mutate} error={open.error} fields={["name"]}>
              <KindChoice kind={kind} onChange={setKind} />
              <TextField
                key={kind}
                label="Name"
                name="name"
                required
                maxLength={200}
                defaultValue={kind === "builder" ? identity.name : `${identity.name}'s nodes`}
                hint="Seen by you, and by the platform's operators."
                error={errorOfField(open.error, "name")}
              />
              <Button type="submit" look="primary" className="self-start" busy={open.isPending}>
                Open {kind} account
              </Button>
            </Form>
          </Card>
        )}
      </div>
    </div>
  );
}

function KindChoice({ kind, onChange }: { kind: AccountKind; onChange: (kind: AccountKind) => void }) {
  return (
    <fieldset className="grid gap-3 sm:grid-cols-2">
      <legend className="mb-1.5 font-medium">Kind of account</legend>
      {(["builder", "host"] as const).map((value) => {
        const { title, icon: Icon, says } = KINDS[value];
        return (
          <label
            key={value}
            className={classes(
              "flex cursor-pointer flex-col gap-1.5 rounded-lg border p-4 has-focus-visible:outline-2 has-focus-visible:outline-accent",
              kind === value ? "border-accent bg-accent-soft/50" : "border-line hover:bg-sunken/60",
            )}
          >
            <span className="flex items-center gap-2 font-medium">
              <input
                type="radio"
                name="kind"
                value={value}
                checked={kind === value}
                onChange={() => onChange(value)}
                className="accent-accent"
              />
              <Icon aria-hidden className="size-4 text-accent" />
              {title}
            </span>
            <span className="text-ink-soft">{says}</span>
          </label>
        );
      })}
    </fieldset>
  );
}

function Owned({ accounts }: { accounts: Account[] }) {
  const navigate = useNavigate();
  const choose = (account: Account): void => {
    switchAccount(account).then(() => navigate({ to: HOME[account.kind] }), toastError);
  };
  return (
    <Card title="Your accounts" flush>
      <ul className="border-t border-line">
        {accounts.map((account) => (
          <li
            key={account.id}
            className="flex items-center justify-between gap-3 border-b border-line px-4 py-2.5 last:border-b-0 sm:px-5"
          >
            <span className="min-w-0">
              <span className="block truncate font-medium">{account.name}</span>
              <span className="text-xs text-ink-soft">{KINDS[account.kind].title}</span>
            </span>
            {account.suspended ? (
              <Badge tone="bad">suspended</Badge>
            ) : (
              <Button size="small" aria-label={`Use ${account.name}`} onClick={() => choose(account)}>
                Use
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}
