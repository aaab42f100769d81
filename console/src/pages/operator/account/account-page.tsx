/** One account for operators: activity, balances, keys or nodes, members, and audit log. */
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { PlatformAccount } from "../../../api/answer-types.ts";
import { accountQuery } from "../../../data/platform-accounts.ts";
import { BUCKETED_RANGES } from "../../../time-range.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Card, PageHeader } from "../../../ui/card.tsx";
import { IdLine, PropertyList } from "../../../ui/drawer.tsx";
import { ArrowLeft } from "../../../ui/icons.tsx";
import { LoadedQuery } from "../../../ui/loading-states.tsx";
import { PageSections } from "../../../ui/page-sections.tsx";
import { RangeChoice, useRange } from "../../../ui/range-choice.tsx";
import { AccountActions } from "../accounts/account-actions.tsx";
import { AccountKeys } from "../accounts/account-keys.tsx";
import { AccountMoneySummary, AccountState } from "../accounts/account-summary.tsx";
import { AccountActivityCard } from "./account-activity.tsx";
import { AccountAudit } from "./account-audit.tsx";
import { AccountNodes } from "./account-nodes.tsx";
import { AccountPayouts } from "./account-payouts.tsx";
import { AccountStatement } from "./account-statement.tsx";

export function AccountPage() {
  const { id } = useParams({ from: "/app/operator/accounts/$id" });
  const account = useQuery(accountQuery(id));
  return (
    <>
      <Link
        to="/operator/accounts"
        className="mb-3 inline-flex items-center gap-1.5 text-ink-soft underline-offset-2 hover:underline"
      >
        <ArrowLeft aria-hidden className="size-4" />
        Accounts
      </Link>
      {account.data === undefined && <PageHeader title="Account" />}
      <LoadedQuery query={account}>{(found) => <Details key={found.id} account={found} />}</LoadedQuery>
    </>
  );
}

function Details({ account }: { account: PlatformAccount }) {
  const { id, kind, name } = account;
  const [range, setRange] = useRange(BUCKETED_RANGES, "30d");
  return (
    <>
      <PageHeader
        title={name}
        about={
          <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <Badge tone={kind === "host" ? "accent" : "neutral"}>{kind}</Badge>
            <span role="status">
              <AccountState account={account} />
            </span>
          </span>
        }
        actions={<AccountActions account={account} />}
      />
      <PageSections>
        <AccountActivityCard
          id={id}
          range={range}
          choice={<RangeChoice range={range} choices={BUCKETED_RANGES} onChange={setRange} />}
        />
        <div className="grid grid-cols-1 gap-5 xl:grid-cols-2">
          <Card title="Account">
            <div className="flex flex-col gap-4">
              <PropertyList>
                <AccountMoneySummary account={account} />
              </PropertyList>
              <IdLine id={id} of="account" />
            </div>
          </Card>
          <Card title="Team" flush>
            <Team account={account} />
          </Card>
        </div>
        {kind === "builder" ? (
          <>
            <AccountStatement id={id} />
            <Card title="API keys">
              <AccountKeys accountId={id} />
            </Card>
          </>
        ) : (
          <>
            <AccountNodes id={id} />
            <AccountPayouts id={id} />
          </>
        )}
        <AccountAudit id={id} />
      </PageSections>
    </>
  );
}

function Team({ account: { owners, members } }: { account: PlatformAccount }) {
  const people = [...owners.map((email) => ({ email, role: "owner" })), ...members];
  if (people.length === 0) return <p className="px-4 pb-4 text-ink-soft sm:px-5">No owner.</p>;
  return (
    <ul aria-label="Team" className="border-t border-line">
      {people.map(({ email, role }) => (
        <li
          key={email}
          className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 border-b border-line px-4 py-2.5 last:border-b-0 sm:px-5"
        >
          <span className="min-w-0 wrap-anywhere">{email}</span>
          <Badge tone={role === "owner" ? "accent" : "neutral"}>{role}</Badge>
        </li>
      ))}
    </ul>
  );
}
