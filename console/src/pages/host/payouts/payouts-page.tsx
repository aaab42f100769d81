/** A host's payouts: the amount owed, the payout method, and past payouts. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { HostPayout } from "../../../api/answer-types.ts";
import { hostMoneyQuery } from "../../../data/earnings.ts";
import { hostPayoutsQuery } from "../../../data/host-payouts.ts";
import { RoleNote } from "../../../team/role-note.tsx";
import { Badge } from "../../../ui/badge.tsx";
import { Card, PageHeader, Stat, StatGrid } from "../../../ui/card.tsx";
import { Banknote } from "../../../ui/icons.tsx";
import { EmptyState, LoadedQuery } from "../../../ui/loading-states.tsx";
import { MoneyText, moneyColumn } from "../../../ui/money-text.tsx";
import { PageSections } from "../../../ui/page-sections.tsx";
import { PagedTable } from "../../../ui/paged-table.tsx";
import type { Column } from "../../../ui/table.tsx";
import { TimeText } from "../../../ui/time-text.tsx";
import { PayoutMethodCard } from "./payout-method-card.tsx";

export function HostPayoutsPage() {
  const money = useQuery(hostMoneyQuery);
  const payouts = useInfiniteQuery(hostPayoutsQuery);
  return (
    <>
      <PageHeader
        title="Payouts"
        about="The platform's operators pay hosts in batches. Earnings wait for the hold-back period first, because a builder's payment can still be reversed."
      />
      <RoleNote kind="host" need="pay" />
      <PageSections>
        <LoadedQuery query={money}>
          {({ balance }) => (
            <StatGrid label="Earnings and payouts">
              <Stat label="Pending payout" note="Earned, not yet paid out">
                <MoneyText of={balance.pending_micro} as="balance" />
              </Stat>
              <Stat label="Held back" note="Part of pending, still in the hold-back period">
                <MoneyText of={balance.held_back_micro} as="balance" />
              </Stat>
              <Stat label="Paid out" note="All time">
                <MoneyText of={balance.paid_out_micro} as="balance" />
              </Stat>
              <Stat label="Set-off" note="Deducted for debts of the owners">
                <MoneyText of={balance.set_off_micro} as="balance" />
              </Stat>
            </StatGrid>
          )}
        </LoadedQuery>
        <PayoutMethodCard />
        <Card title="Payout history" flush>
          <PagedTable
            query={payouts}
            label="Payout history"
            columns={COLUMNS}
            keyOf={({ payout }) => payout}
            empty={
              <EmptyState icon={<Banknote aria-hidden />} title="No payouts yet">
                Once an operator creates a payout that includes your earnings, it appears here.
              </EmptyState>
            }
          />
        </Card>
      </PageSections>
    </>
  );
}

const COLUMNS: Column<HostPayout>[] = [
  {
    title: "Payout",
    className: "max-w-0 w-full @lg:w-auto @lg:max-w-72",
    cell: ({ payout, created_at }) => (
      <>
        <span className="block font-medium">
          <TimeText at={created_at} as="full" />
        </span>
        <code className="block truncate font-mono text-xs text-ink-soft">{payout}</code>
      </>
    ),
  },
  { title: "State", cell: ({ state }) => <Badge tone={state === "paid" ? "good" : "warn"}>{state}</Badge> },
  {
    title: "Sent",
    from: "md",
    cell: ({ paid_at, paid_to }) =>
      paid_at === null ? (
        <span className="text-ink-soft">–</span>
      ) : (
        <>
          <span className="block">
            <TimeText at={paid_at} as="day" />
          </span>
          <span className="block text-xs text-ink-soft">{paid_to ?? "method not recorded"}</span>
        </>
      ),
  },
  moneyColumn({ title: "Held back", from: "lg", of: ({ held_back_micro }) => held_back_micro }),
  moneyColumn({ title: "Set-off", from: "lg", of: ({ set_off_micro }) => set_off_micro }),
  moneyColumn({ title: "Newly withheld", from: "xl", of: ({ newly_withheld_micro }) => newly_withheld_micro }),
  moneyColumn({ title: "All withheld", from: "xl", of: ({ withheld_micro }) => withheld_micro }),
  moneyColumn({ title: "Amount", of: ({ amount_micro }) => amount_micro }),
];
