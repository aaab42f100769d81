/** A builder's credits: what there is, buying more, and the statement. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { balanceQuery } from "../../data/money.ts";
import { PageHeader, Stat, Stats } from "../../ui/card.tsx";
import { Money } from "../../ui/money.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Loaded, Skeleton } from "../../ui/states.tsx";
import { Packs } from "./packs.tsx";
import { PurchaseReturn } from "./purchase-return.tsx";
import { StatementCard } from "./statement.tsx";

export function CreditsPage() {
  const { purchase, checkout } = useSearch({ from: "/app/credits" });
  const navigate = useNavigate({ from: "/credits" });
  return (
    <>
      <PageHeader
        title="Credits"
        about="Requests are prepaid: each reserves its maximum cost and is charged for what it used."
      />
      <div className="flex flex-col gap-5">
        {purchase !== undefined && (
          <PurchaseReturn
            outcome={purchase}
            checkoutId={checkout}
            onDismiss={() => void navigate({ search: {}, replace: true })}
          />
        )}
        <BalanceFigures />
        <Packs />
        <StatementCard />
      </div>
    </>
  );
}

function BalanceFigures() {
  const balance = useQuery(balanceQuery);
  return (
    <Loaded query={balance} loading={<Skeleton className="h-28 w-full" />}>
      {({ balance_micro, held_micro, available_micro }) => (
        <>
          <Stats label="Credit">
            <Stat label="Available" note="What new requests can reserve">
              <Money of={available_micro} as="balance" />
            </Stat>
            <Stat label="Held" note="Reserved by requests in flight">
              <Money of={held_micro} />
            </Stat>
            <Stat label="Balance" note="Available plus held">
              <Money of={balance_micro} as="balance" />
            </Stat>
          </Stats>
          {available_micro.startsWith("-") && (
            <Notice tone="bad" title="Your balance is negative">
              A refund or a dispute took more than was left. Requests are refused until it is above zero again.
            </Notice>
          )}
        </>
      )}
    </Loaded>
  );
}
