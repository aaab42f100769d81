/** A builder's credit: the balance and how long it lasts, alerts and top-ups, purchases, payments and the statement. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { balanceQuery } from "../../data/balance-and-usage.ts";
import { creditsQuery } from "../../data/credits.ts";
import { usePermissions } from "../../data/signed-in-session.ts";
import { RoleNote } from "../../team/role-note.tsx";
import { PageHeader, Stat, StatGrid } from "../../ui/card.tsx";
import { LoadedQuery, LoadedStat, Skeleton } from "../../ui/loading-states.tsx";
import { MoneyText } from "../../ui/money-text.tsx";
import { Notice } from "../../ui/notice.tsx";
import { PageSections } from "../../ui/page-sections.tsx";
import { CheckoutReturnNotice } from "./checkout-return-notice.tsx";
import { CreditPacks } from "./credit-packs.tsx";
import { describeCreditTimeLeft } from "./credit-time-left.ts";
import { LowCreditAlertCard } from "./low-credit-alert-card.tsx";
import { PaymentsCard } from "./payments.tsx";
import { StatementCard } from "./statement.tsx";
import { TopUpCard } from "./top-up-card.tsx";

export function CreditsPage() {
  const { purchase, checkout } = useSearch({ from: "/app/credits" });
  const navigate = useNavigate({ from: "/credits" });
  return (
    <>
      <PageHeader
        title="Credits"
        about="Requests are prepaid. Each request reserves its maximum cost (a hold). When it ends, its actual cost is charged and the rest is refunded."
      />
      <PageSections>
        {purchase !== undefined && (
          <CheckoutReturnNotice
            outcome={purchase}
            checkoutId={checkout}
            onDismiss={() => void navigate({ search: {}, replace: true })}
          />
        )}
        <Figures />
        <CreditPacks />
        <LookedAfter />
        <PaymentsCard />
        <StatementCard />
      </PageSections>
    </>
  );
}

function Figures() {
  const balance = useQuery(balanceQuery);
  const credits = useQuery(creditsQuery);
  return (
    <LoadedQuery query={balance} loading={<Skeleton className="h-28 w-full" />}>
      {({ balance_micro, held_micro, available_micro }) => (
        <>
          <StatGrid label="Credit">
            <Stat
              label="Available"
              note={
                <>
                  Balance: <MoneyText of={balance_micro} exact />
                </>
              }
            >
              <MoneyText of={available_micro} as="balance" />
            </Stat>
            <Stat label="Held" note="Reserved by requests in flight">
              <MoneyText of={held_micro} />
            </Stat>
            <LoadedStat
              query={credits}
              label="Spent per day"
              note={({ spending }) => (
                <>
                  <MoneyText of={spending.last_day_micro} /> in 24 h, <MoneyText of={spending.last_week_micro} /> in 7
                  days
                </>
              )}
            >
              {({ spending }) => <MoneyText of={spending.per_day_micro} />}
            </LoadedStat>
            <LoadedStat
              query={credits}
              label="Time left"
              note={() => "At your 7-day average, or the last 24 hours if higher"}
            >
              {({ spending }) => describeCreditTimeLeft(spending.lasts_s)}
            </LoadedStat>
          </StatGrid>
          {available_micro.startsWith("-") && (
            <Notice tone="bad" title="Your balance is negative">
              A refund or dispute was larger than the balance. Add credits: requests are refused until the balance is
              above zero.
            </Notice>
          )}
        </>
      )}
    </LoadedQuery>
  );
}

function LookedAfter() {
  const credits = useQuery(creditsQuery);
  const mayPay = usePermissions("builder")("pay");
  return (
    <LoadedQuery query={credits} loading={<Skeleton className="h-48 w-full" />}>
      {(loaded) => (
        // Users who may not pay see the settings as disabled fields.
        <fieldset disabled={!mayPay} className="min-w-0">
          <legend className="sr-only">Alert and automatic top-up</legend>
          {!loaded.can_buy && <RoleNote kind="builder" need="pay" />}
          <div className="grid grid-cols-1 items-start gap-5 lg:grid-cols-2">
            <LowCreditAlertCard credits={loaded} />
            {loaded.can_buy && <TopUpCard credits={loaded} />}
          </div>
        </fieldset>
      )}
    </LoadedQuery>
  );
}
