/** The page that creates builder and host accounts, and switches between existing ones. */
import { useMutation } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import type { Account, AccountKind } from "../../api/answer-types.ts";
import { callConsoleApi } from "../../api/api-client.ts";
import { chooseAccount } from "../../api/chosen-account.ts";
import { refreshSession, switchAccount, useMe } from "../../data/signed-in-session.ts";
import { Button } from "../../ui/button.tsx";
import { Card, PageHeader } from "../../ui/card.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { findFieldError, TextField } from "../../ui/form-fields.tsx";
import { Code, Cpu } from "../../ui/icons.tsx";
import { joinClasses } from "../../ui/join-classes.ts";
import { Notice } from "../../ui/notice.tsx";
import { PageSections } from "../../ui/page-sections.tsx";
import { toastError } from "../../ui/toast.tsx";
import { AccountList } from "./account-list.tsx";

const KINDS = {
  builder: { title: "Builder", icon: Code, says: "Call models through the API and pay per token from prepaid credit." },
  host: { title: "Host", icon: Cpu, says: "Serve models on your own machines and earn from every request." },
} as const;

const HOME = { builder: "/overview", host: "/host" } as const;

export function AccountsPage() {
  const { identity, accounts } = useMe();
  const { kind: asked = "builder" } = useSearch({ from: "/app/accounts" });
  const [kind, setKind] = useState<AccountKind>(asked);
  const navigate = useNavigate();
  const first = accounts.length === 0;
  const suspended = accounts.some((account) => account.suspended && account.role === "owner");
  const create = useMutation({
    mutationFn: async (fields: FormData) => {
      const body = { kind, name: readTextField(fields, "name").trim() };
      chooseAccount(await callConsoleApi("POST /console/api/accounts", { body }));
      await refreshSession();
      await navigate({ to: HOME[kind] });
    },
  });
  return (
    <div className="mx-auto max-w-xl">
      <PageHeader
        title={first ? "Choose an account type" : "Accounts"}
        {...(!suspended && {
          about: first
            ? "You can create more accounts later, of either type."
            : "Switch between your accounts, or create another one.",
        })}
      />
      <PageSections>
        {suspended && (
          <Notice tone="bad" title="One of your accounts is suspended">
            You cannot use this account or create another one. Contact the platform's operators.
          </Notice>
        )}
        {!first && <OwnAccounts accounts={accounts} />}
        {!suspended && (
          <Card {...(!first && { title: "Create another account" })}>
            <Form onSubmit={create.mutate} error={create.error} fields={["name"]}>
              <KindChoice kind={kind} onChange={setKind} />
              <TextField
                key={kind}
                label="Name"
                name="name"
                required
                maxLength={200}
                defaultValue={kind === "builder" ? identity.name : `${identity.name}'s nodes`}
                hint="Visible to you, your team and the platform's operators."
                error={findFieldError(create.error, "name")}
              />
              <Button type="submit" look="primary" className="self-start" busy={create.isPending}>
                Create {kind} account
              </Button>
            </Form>
          </Card>
        )}
      </PageSections>
    </div>
  );
}

function KindChoice({ kind, onChange }: { kind: AccountKind; onChange: (kind: AccountKind) => void }) {
  return (
    <fieldset className="grid gap-3 sm:grid-cols-2">
      <legend className="mb-1.5 font-medium">Account type</legend>
      {(["builder", "host"] as const).map((value) => {
        const { title, icon: Icon, says } = KINDS[value];
        return (
          <label
            key={value}
            className={joinClasses(
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

function OwnAccounts({ accounts }: { accounts: Account[] }) {
  const navigate = useNavigate();
  const choose = (account: Account): void => {
    switchAccount(account).then(() => navigate({ to: HOME[account.kind] }), toastError);
  };
  return (
    <AccountList
      title="Your accounts"
      accounts={accounts}
      about={({ kind, role }) => (role === "owner" ? KINDS[kind].title : `${KINDS[kind].title} · ${role}`)}
      action={(account) => (
        <Button size="small" aria-label={`Switch to ${account.name}`} onClick={() => choose(account)}>
          Switch
        </Button>
      )}
    />
  );
}
