/**
 * Payout batches. An operator creates one from the owed amounts, exports it for the bank transfer, and marks it as
 * paid.
 */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import type { Payout } from "../../../api/answer-types.ts";
import { payoutsQuery } from "../../../data/operator-payouts.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { Card, PageHeader } from "../../../ui/card.tsx";
import { Banknote, Plus } from "../../../ui/icons.tsx";
import { EmptyState } from "../../../ui/loading-states.tsx";
import { moneyColumn } from "../../../ui/money-text.tsx";
import { PageSections } from "../../../ui/page-sections.tsx";
import { PagedTable } from "../../../ui/paged-table.tsx";
import type { Column } from "../../../ui/table.tsx";
import { CountText, TimeText } from "../../../ui/time-text.tsx";
import { CreatePayoutDialog } from "./create-payout.tsx";
import { PayoutDrawer } from "./payout-drawer.tsx";
import { WithheldShares } from "./withheld-shares.tsx";

export function PayoutsPage() {
  const { payout: open, node } = useSearch({ from: "/app/operator/payouts" });
  const navigate = useNavigate({ from: "/operator/payouts" });
  const [creating, setCreating] = useState(false);
  const payouts = useInfiniteQuery(payoutsQuery);
  const kept = node === undefined ? {} : { node };
  const show = (payout: string | undefined): void =>
    void navigate({ search: { ...kept, ...(payout !== undefined && { payout }) } });
  const create = (
    <Button look="primary" onClick={() => setCreating(true)}>
      <Plus aria-hidden className="size-4" />
      Create payout
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Payouts"
        about="A payout collects the host earnings that are past the hold-back period. Export the CSV, send the money, then mark the payout as paid to record it in the ledger."
        actions={create}
      />
      <PageSections>
        <Card flush>
          <PagedTable
            query={payouts}
            label="Payouts"
            columns={COLUMNS}
            keyOf={({ id }) => id}
            onOpen={({ id }) => show(id)}
            isOpen={({ id }) => id === open}
            empty={
              <EmptyState icon={<Banknote aria-hidden />} title="No payouts yet" action={create}>
                Create a payout when hosts are owed money.
              </EmptyState>
            }
          />
        </Card>
        <WithheldShares
          key={node}
          node={node}
          onNode={(next) =>
            void navigate({ search: next === undefined ? {} : { node: next }, replace: true, resetScroll: false })
          }
        />
      </PageSections>
      {creating && <CreatePayoutDialog onClose={() => setCreating(false)} onCreated={show} />}
      <PayoutDrawer id={open} onClose={() => show(undefined)} />
    </>
  );
}

const COLUMNS: Column<Payout>[] = [
  {
    title: "Created",
    className: "max-w-0 w-full @lg:w-auto @lg:max-w-72",
    cell: ({ created_at, note }) => (
      <>
        <span className="block font-medium">
          <TimeText at={created_at} as="full" />
        </span>
        <span className="block truncate text-xs text-ink-soft">{note || "no note"}</span>
      </>
    ),
  },
  { title: "State", cell: ({ state }) => <Badge tone={state === "paid" ? "good" : "warn"}>{state}</Badge> },
  { title: "Hosts", from: "sm", align: "right", cell: ({ hosts }) => <CountText of={hosts} /> },
  moneyColumn({ title: "Total", of: ({ total_micro }) => total_micro }),
  moneyColumn({ title: "Held back", from: "xl", of: ({ held_back_micro }) => held_back_micro }),
  moneyColumn({ title: "Set-off", from: "xl", of: ({ set_off_micro }) => set_off_micro }),
  moneyColumn({ title: "Withheld", from: "xl", of: ({ withheld_micro }) => withheld_micro }),
  {
    title: "Created by",
    from: "lg",
    className: "max-w-48",
    cell: ({ created_by }) => <span className="block truncate">{created_by}</span>,
  },
];
