/** A host's payouts and the amount owed. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { AccountPayout } from "../../../api/answer-types.ts";
import { accountPayoutsQuery } from "../../../data/operator-account-page.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Card, Stat, StatGrid } from "../../../ui/card.tsx";
import { Banknote } from "../../../ui/icons.tsx";
import { EmptyState } from "../../../ui/loading-states.tsx";
import { MoneyText, moneyColumn } from "../../../ui/money-text.tsx";
import { PagedTable } from "../../../ui/paged-table.tsx";
import type { Column } from "../../../ui/table.tsx";
import { TimeText } from "../../../ui/time-text.tsx";

export function AccountPayouts({ id }: { id: string }) {
  const payouts = useInfiniteQuery(accountPayoutsQuery(id));
  const navigate = useNavigate();
  const balance = payouts.data?.pages[0]?.balance ?? null;
  return (
    <>
      {balance !== null && (
        <StatGrid label="Earnings and payouts">
          <Stat label="Owed" note="Earned, not yet paid out">
            <MoneyText of={balance.pending_micro} as="balance" />
          </Stat>
          <Stat label="Held back" note="Still in the hold-back period">
            <MoneyText of={balance.held_back_micro} as="balance" />
          </Stat>
          <Stat label="Paid out" note="All time">
            <MoneyText of={balance.paid_out_micro} as="balance" />
          </Stat>
          <Stat label="Set-off" note="Deducted for debts of its owners">
            <MoneyText of={balance.set_off_micro} as="balance" />
          </Stat>
          <Stat label="Withheld" note="Not released">
            <MoneyText of={balance.withheld_micro} as="balance" />
          </Stat>
          <Stat label="Own requests" note="Of all earnings, paid by its own owners">
            <MoneyText of={balance.own_micro} as="balance" />
          </Stat>
        </StatGrid>
      )}
      <Card title="Payouts" flush>
        <PagedTable
          query={payouts}
          label="Payouts"
          columns={COLUMNS}
          keyOf={({ payout }) => payout}
          onOpen={({ payout }) => void navigate({ to: "/operator/payouts", search: { payout } })}
          empty={<EmptyState icon={<Banknote aria-hidden />} title="No payouts yet" />}
        />
      </Card>
    </>
  );
}

const COLUMNS: Column<AccountPayout>[] = [
  {
    title: "Payout",
    className: "max-w-0 w-full",
    cell: ({ note, payout, created_at }) => (
      <>
        <span className="block truncate font-medium">{note || payout}</span>
        <span className="block text-xs text-ink-soft">
          <TimeText at={created_at} as="day" />
        </span>
      </>
    ),
  },
  moneyColumn({ title: "Amount", of: ({ amount_micro }) => amount_micro }),
  {
    title: "Sent to",
    from: "lg",
    cell: ({ paid_to }) => paid_to ?? <span className="text-ink-soft">–</span>,
  },
  moneyColumn({ title: "Held back", from: "md", of: ({ held_back_micro }) => held_back_micro }),
  moneyColumn({ title: "Set-off", from: "lg", of: ({ set_off_micro }) => set_off_micro }),
  moneyColumn({ title: "Own requests", from: "lg", of: ({ own_micro }) => own_micro }),
  {
    title: "State",
    align: "right",
    cell: ({ state }) => <Badge tone={state === "paid" ? "good" : "warn"}>{state}</Badge>,
  },
];
