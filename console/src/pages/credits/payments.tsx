/** Payments and refunds, with the payment provider's receipts. */
import { useInfiniteQuery } from "@tanstack/react-query";
import type { Payment } from "../../api/answer-types.ts";
import { isBillingDisabled, paymentsQuery, usePaymentReceipt } from "../../data/credits.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Receipt } from "../../ui/icons.tsx";
import { EmptyState } from "../../ui/loading-states.tsx";
import { moneyColumn } from "../../ui/money-text.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import type { Column } from "../../ui/table.tsx";
import { TimeText } from "../../ui/time-text.tsx";
import { toast, toastError } from "../../ui/toast.tsx";

export function PaymentsCard() {
  const payments = useInfiniteQuery(paymentsQuery);
  // If purchases are disabled, this card is hidden, because the card above says so.
  if (isBillingDisabled(payments.error)) return null;
  return (
    <Card title="Payments" flush>
      <PagedTable
        query={payments}
        label="Payments"
        columns={COLUMNS}
        keyOf={({ purchase_id, provider_id }) => provider_id ?? purchase_id}
        empty={
          <EmptyState icon={<Receipt aria-hidden />} title="No payments yet">
            Purchases, refunds and disputes appear here.
          </EmptyState>
        }
      />
    </Card>
  );
}

const KINDS: Record<Payment["kind"], string> = {
  purchase: "Purchase",
  automatic: "Automatic top-up",
  refund: "Refund",
  dispute: "Dispute",
};

const STATES: Record<Payment["state"], { tone: Tone; word: string }> = {
  open: { tone: "warn", word: "in progress" },
  pending: { tone: "warn", word: "pending" },
  paid: { tone: "good", word: "paid" },
  failed: { tone: "bad", word: "failed" },
  expired: { tone: "neutral", word: "expired" },
  mismatch: { tone: "bad", word: "under review" },
  won: { tone: "good", word: "in your account" },
  lost: { tone: "bad", word: "lost" },
};

/** A dispute that the platform won returned the money to the account. A lost one returned it to the card holder. */
const DISPUTES: Partial<typeof STATES> = {
  open: { tone: "warn", word: "open" },
  won: { tone: "neutral", word: "closed, credit returned" },
  lost: { tone: "neutral", word: "closed, refunded" },
};

function State({ of: { kind, state } }: { of: Payment }) {
  const { tone, word } = (kind === "dispute" ? DISPUTES[state] : undefined) ?? STATES[state];
  return <Badge tone={tone}>{kind === "refund" && state === "paid" ? "refunded" : word}</Badge>;
}

const COLUMNS: Column<Payment>[] = [
  {
    title: "Time",
    cell: (payment) => (
      <>
        <span className="whitespace-nowrap">
          <TimeText at={payment.at} />
        </span>
        <span className="mt-1 block text-xs text-ink-soft sm:hidden">{KINDS[payment.kind]}</span>
      </>
    ),
  },
  { title: "Type", from: "sm", cell: ({ kind }) => <span className="whitespace-nowrap">{KINDS[kind]}</span> },
  {
    title: "Payment",
    from: "lg",
    className: "max-w-0 w-1/3",
    cell: ({ purchase_id }) => (
      <span title={purchase_id} className="block truncate font-mono text-xs text-ink-soft">
        {purchase_id}
      </span>
    ),
  },
  { title: "State", cell: (payment) => <State of={payment} /> },
  moneyColumn({
    title: "Amount",
    of: ({ kind, amount_micro }) => (kind === "refund" || kind === "dispute" ? `-${amount_micro}` : amount_micro),
  }),
  {
    title: "Receipt",
    align: "right",
    hideTitle: true,
    cell: ({ has_receipt, purchase_id }) => has_receipt && <ReceiptButton id={purchase_id} />,
  },
];

function ReceiptButton({ id }: { id: string }) {
  const receipt = usePaymentReceipt();
  const show = (): void =>
    receipt.mutate(id, {
      onSuccess({ receipt_url, invoice_url }) {
        const url = invoice_url ?? receipt_url;
        if (url === null) toast("The payment provider has no receipt for this payment", "bad");
        else window.open(url, "_blank", "noopener");
      },
      onError: toastError,
    });
  return (
    <Button size="small" look="quiet" busy={receipt.isPending} onClick={show} aria-label={`Receipt for ${id}`}>
      Receipt
    </Button>
  );
}
