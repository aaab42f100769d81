/** The amounts that the platform owes, and the latest ledger check with a button to run a new one. */
import { Link } from "@tanstack/react-router";
import type { PlatformPerformance } from "../../../api/answer-types.ts";
import { useCheckLedger } from "../../../data/platform-overview.ts";
import { Button, buttonClasses } from "../../../ui/button.tsx";
import { Stat, StatGrid } from "../../../ui/card.tsx";
import { MoneyText } from "../../../ui/money-text.tsx";
import { Notice } from "../../../ui/notice.tsx";
import { CountText, TimeText } from "../../../ui/time-text.tsx";
import { toastError } from "../../../ui/toast.tsx";

type Parts = Pick<PlatformPerformance, "money" | "accounts" | "books" | "history_losses">;

export function MoneySummary({ money, accounts, books, history_losses = [] }: Parts) {
  return (
    <>
      <StatGrid label="Money and accounts">
        <Stat
          label="Builders' credit"
          note={
            <>
              <MoneyText of={money.held_micro} /> held by requests in flight
            </>
          }
        >
          <MoneyText of={money.builder_credit_micro} as="balance" />
        </Stat>
        <Stat label="Owed to hosts" note="Earned, not yet paid out">
          <MoneyText of={money.hosts_owed_micro} as="balance" />
        </Stat>
        <Stat label="Liabilities" note="Builders' credit plus owed to hosts">
          <MoneyText of={money.liabilities_micro} as="balance" />
        </Stat>
        <Stat label="Platform revenue" note="All time">
          <MoneyText of={money.platform_revenue_micro} as="balance" />
        </Stat>
        <Stat
          label="Accounts"
          note={
            <>
              <CountText of={accounts.builders} /> {accounts.builders === 1 ? "builder" : "builders"},{" "}
              <CountText of={accounts.hosts} /> {accounts.hosts === 1 ? "host" : "hosts"}
              {accounts.suspended > 0 && `, ${accounts.suspended} suspended`}
            </>
          }
        >
          <CountText of={accounts.builders + accounts.hosts} />
        </Stat>
      </StatGrid>
      <Verdict of={books} />
      {history_losses.map((loss) => (
        <Lost key={loss.at} of={loss} />
      ))}
    </>
  );
}

function Lost({ of }: { of: NonNullable<Parts["history_losses"]>[number] }) {
  return (
    <Notice tone="bad" title="A database failover lost data">
      <p>
        About {of.lost_s} s of history. Charges and changes that gateways entered again: <CountText of={of.entered} />.
        Still missing: <CountText of={of.missing} />. To list the missing ones, run{" "}
        <code>tollgate admin history losses</code>.
      </p>
      <p className="text-ink-soft">
        Found <TimeText at={of.at} as="ago" />
      </p>
    </Notice>
  );
}

function Verdict({ of: books }: { of: Parts["books"] }) {
  const proof = useCheckLedger();
  const action = (
    <div className="flex flex-wrap gap-2">
      <Button size="small" busy={proof.isPending} onClick={() => proof.mutate(undefined, { onError: toastError })}>
        Check now
      </Button>
      <Link to="/operator/ledger" className={buttonClasses("plain", "small")}>
        View checks
      </Link>
    </div>
  );
  if (books === null) return <Notice tone="neutral" title="The ledger has not been checked yet" action={action} />;
  const { balanced, at, asked_by, failed_checks } = books;
  return (
    <div role="status">
      <Notice
        tone={balanced ? "good" : "bad"}
        title={balanced ? "The ledger balances" : "The ledger does not balance"}
        action={action}
      >
        {!balanced && <p>{failed_checks.join("; ")}</p>}
        <p className="text-ink-soft">
          Checked <TimeText at={at} as="ago" />, {asked_by === "by itself" ? "automatically" : `by ${asked_by}`}
        </p>
      </Notice>
    </div>
  );
}
