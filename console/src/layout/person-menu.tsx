/** The menu of the signed-in person: choice of account, settings and signing out. */
import { useNavigate } from "@tanstack/react-router";
import type { AccountKind, Me } from "../api/answer-types.ts";
import { findChosenAccount } from "../api/chosen-account.ts";
import { signOut, switchAccount } from "../data/signed-in-session.ts";
import { ChevronsUpDown, LogOut, Plus, Settings } from "../ui/icons.tsx";
import { Menu, MenuChoice, MenuItem, MenuLabel, MenuSeparator } from "../ui/menu.tsx";
import { toastError } from "../ui/toast.tsx";

export function PersonMenu({ me }: { me: Me }) {
  const navigate = useNavigate();
  const { identity } = me;
  const leave = (): void => {
    signOut().catch(toastError);
  };
  return (
    <Menu
      align="start"
      button={
        <button
          type="button"
          className="flex w-full min-w-0 items-center gap-2.5 rounded-md p-2 text-left transition-colors hover:bg-sunken"
        >
          <span
            aria-hidden
            className="flex size-7 shrink-0 items-center justify-center rounded-full bg-accent-soft text-xs font-semibold text-accent"
          >
            {[...identity.name][0]?.toUpperCase()}
          </span>
          <span className="min-w-0 flex-1">
            <span className="sr-only">Accounts and settings for </span>
            <span className="block truncate font-medium">{identity.name}</span>
            <span title={identity.email} className="block truncate text-xs text-ink-soft">
              {identity.email}
            </span>
          </span>
          <ChevronsUpDown aria-hidden className="size-4 shrink-0 text-ink-soft" />
        </button>
      }
    >
      <AccountChoice me={me} kind="builder" title="Builder account" />
      <AccountChoice me={me} kind="host" title="Host account" />
      <MenuItem onSelect={() => void navigate({ to: "/accounts" })}>
        <Plus aria-hidden />
        Create account
      </MenuItem>
      <MenuItem onSelect={() => void navigate({ to: "/settings" })}>
        <Settings aria-hidden />
        Settings
      </MenuItem>
      <MenuSeparator />
      <MenuItem onSelect={leave}>
        <LogOut aria-hidden />
        Sign out
      </MenuItem>
    </Menu>
  );
}

/** Shown only if the person has several accounts of this kind. */
function AccountChoice({ me, kind, title }: { me: Me; kind: AccountKind; title: string }) {
  const accounts = me.accounts.filter((account) => account.kind === kind && !account.suspended);
  const acting = findChosenAccount(kind, me.accounts);
  if (accounts.length < 2 || acting === undefined) return null;
  return (
    <>
      <MenuLabel>{title}</MenuLabel>
      <MenuChoice
        label={title}
        value={acting.id}
        options={accounts.map(({ id, name, role }) => ({
          value: id,
          label: (
            <>
              <span className="truncate">{name}</span>
              {role !== "owner" && <span className="text-xs text-ink-soft">{role}</span>}
            </>
          ),
        }))}
        onChange={(id) => {
          const next = accounts.find((account) => account.id === id);
          if (next !== undefined) switchAccount(next).catch(toastError);
        }}
      />
      <MenuSeparator />
    </>
  );
}
