/**
 * Shown after the return from the payment provider: waits for the credit or the saved card, or says that nothing was
 * charged.
 */
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { creditsQuery, newestLedgerLinesQuery, refetchMoney } from "../../data/credits.ts";
import { Button } from "../../ui/button.tsx";
import { MoneyText } from "../../ui/money-text.tsx";
import { Notice } from "../../ui/notice.tsx";
import { findPurchaseCredit } from "./purchase-credit.ts";
import { formatCard } from "./saved-card.tsx";

const LOOK_AGAIN_MS = 1_500;

interface Props {
  outcome: string;
  checkoutId: string | undefined;
  onDismiss: () => void;
}

export function CheckoutReturnNotice({ outcome, checkoutId, onDismiss }: Props) {
  const dismiss = (
    <Button size="small" onClick={onDismiss}>
      Dismiss
    </Button>
  );
  return (
    <div role="status">
      {outcome === "done" && checkoutId !== undefined && <Awaited checkoutId={checkoutId} dismiss={dismiss} />}
      {outcome === "saved" && <AwaitedCard dismiss={dismiss} />}
      {outcome === "cancelled" && (
        <Notice
          tone="neutral"
          title={checkoutId === undefined ? "No card was saved" : "Purchase cancelled"}
          action={dismiss}
        >
          Nothing was charged.
        </Notice>
      )}
    </div>
  );
}

function AwaitedCard({ dismiss }: { dismiss: React.ReactNode }) {
  const credits = useQuery({
    ...creditsQuery,
    refetchInterval: ({ state }) => (state.data?.method == null ? LOOK_AGAIN_MS : false),
  });
  const method = credits.data?.method ?? null;
  if (method === null) {
    return (
      <Notice tone="neutral" title="Waiting for the payment provider…">
        Your card appears here once the provider confirms it.
      </Notice>
    );
  }
  return (
    <Notice tone="good" action={dismiss} title={`${formatCard(method)} is saved`}>
      You can now turn on automatic top-up.
    </Notice>
  );
}

function Awaited({ checkoutId, dismiss }: { checkoutId: string; dismiss: React.ReactNode }) {
  const lines = useQuery({
    ...newestLedgerLinesQuery,
    refetchInterval: ({ state }) =>
      findPurchaseCredit(state.data?.data ?? [], checkoutId) === undefined ? LOOK_AGAIN_MS : false,
  });
  const credit = findPurchaseCredit(lines.data?.data ?? [], checkoutId);
  const arrived = credit !== undefined;
  useEffect(() => {
    if (arrived) void refetchMoney();
  }, [arrived]);
  if (credit === undefined) {
    return (
      <Notice tone="neutral" title="Waiting for the payment provider…">
        Your credit is added once the provider confirms the payment, even if you leave this page. Bank transfers can
        take several days.
      </Notice>
    );
  }
  return (
    <Notice
      tone="good"
      action={dismiss}
      title={
        <>
          <MoneyText of={credit.amount_micro} as="balance" /> of credit has been added
        </>
      }
    >
      The credit is available now.
    </Notice>
  );
}
