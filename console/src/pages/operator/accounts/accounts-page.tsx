/** All accounts for operators, found by name, owner or ID, with actions. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { PlatformAccount } from "../../../api/answer-types.ts";
import { accountsQuery } from "../../../data/platform-accounts.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Card, PageHeader } from "../../../ui/card.tsx";
import { Users } from "../../../ui/icons.tsx";
import { EmptyState } from "../../../ui/loading-states.tsx";
import { moneyColumn } from "../../../ui/money-text.tsx";
import { PagedTable } from "../../../ui/paged-table.tsx";
import type { Column } from "../../../ui/table.tsx";
import { TimeText } from "../../../ui/time-text.tsx";
import { AccountDrawer } from "./account-drawer.tsx";
import { AccountSearchBar } from "./account-search-bar.tsx";
import type { AccountsSearch } from "./accounts-search.ts";

export function AccountsPage() {
  const search = useSearch({ from: "/app/operator/accounts" });
  const navigate = useNavigate({ from: "/operator/accounts" });
  const { account: open, ...filter } = search;
  const accounts = useInfiniteQuery(accountsQuery(filter));
  const change = (next: AccountsSearch): void => void navigate({ search: next, replace: true });
  const show = (account: string | undefined): void =>
    void navigate({ search: { ...filter, ...(account !== undefined && { account }) } });
  return (
    <>
      <PageHeader title="Accounts" about="All builder and host accounts. Every change is recorded in the audit log." />
      <Card flush>
        <AccountSearchBar filter={filter} onChange={change} onOpen={show} />
        <PagedTable
          query={accounts}
          label="Accounts"
          columns={COLUMNS}
          keyOf={({ id }) => id}
          onOpen={({ id }) => show(id)}
          isOpen={({ id }) => id === open}
          empty={
            <EmptyState icon={<Users aria-hidden />} title="No matching accounts">
              No account has this name, owner email or ID.
            </EmptyState>
          }
        />
      </Card>
      <AccountDrawer id={open} onClose={() => show(undefined)} />
    </>
  );
}

const COLUMNS: Column<PlatformAccount>[] = [
  {
    title: "Account",
    className: "max-w-0 w-full @lg:w-auto @lg:max-w-72",
    cell: ({ name, owners }) => (
      <>
        <span className="block truncate font-medium">{name}</span>
        <span className="block truncate text-xs text-ink-soft" title={owners.join(", ")}>
          {owners.join(", ") || "no owner"}
        </span>
      </>
    ),
  },
  {
    title: "Type",
    from: "sm",
    cell: ({ kind }) => <Badge tone={kind === "host" ? "accent" : "neutral"}>{kind}</Badge>,
  },
  {
    title: "State",
    from: "sm",
    cell: ({ suspended_at, deleted_at }) =>
      deleted_at !== null ? (
        <Badge tone="neutral">deleted</Badge>
      ) : suspended_at === null ? (
        <Badge tone="good">active</Badge>
      ) : (
        <Badge tone="bad">suspended</Badge>
      ),
  },
  moneyColumn({
    title: "Balance",
    of: ({ balance_micro }) => balance_micro,
    below: ({ suspended_at, deleted_at }) =>
      suspended_at !== null && (
        <span className="block text-xs text-bad @lg:hidden">{deleted_at === null ? "suspended" : "deleted"}</span>
      ),
  }),
  moneyColumn({ title: "Held", from: "lg", of: ({ held_micro }) => held_micro }),
  { title: "Created", from: "md", cell: ({ created_at }) => <TimeText at={created_at} as="day" /> },
  {
    title: "Page",
    hideTitle: true,
    align: "right",
    from: "sm",
    cell: ({ id, name }) => (
      <Link
        to="/operator/accounts/$id"
        params={{ id }}
        aria-label={`Page of ${name}`}
        className="text-accent underline-offset-2 hover:underline"
        onClick={(event) => event.stopPropagation()}
      >
        Page
      </Link>
    ),
  },
];
