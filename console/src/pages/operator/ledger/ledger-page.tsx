/** The page of the ledger check, which recomputes every figure from the entries and shows one result. */
import { useQuery } from "@tanstack/react-query";
import type { LedgerCheckResult } from "../../../api/answer-types.ts";
import { ledgerCheckQuery, useCheckLedger } from "../../../data/platform-overview.ts";
import { Button } from "../../../ui/button.tsx";
import { Card, PageHeader } from "../../../ui/card.tsx";
import { Check, RefreshCw, X } from "../../../ui/icons.tsx";
import { LoadedQuery, Loading } from "../../../ui/loading-states.tsx";
import { Notice } from "../../../ui/notice.tsx";
import { isFirstLoad, PageSections } from "../../../ui/page-sections.tsx";
import { CountText, TimeText } from "../../../ui/time-text.tsx";

export function LedgerPage() {
  const check = useQuery(ledgerCheckQuery);
  const proof = useCheckLedger();
  return (
    <>
      <PageHeader
        title="Ledger"
        about="Recomputes every balance, hold, charge and host share from the ledger entries, in one snapshot, while the platform keeps running."
        actions={
          <Button look="primary" busy={check.isFetching} onClick={() => proof.mutate()}>
            {!check.isFetching && <RefreshCw aria-hidden className="size-4" />}
            Check again
          </Button>
        }
      />
      <PageSections>
        <div role="status" className="empty:hidden">
          {isFirstLoad(check) && (
            <Notice tone="neutral" title="Checking the ledger">
              <p className="text-ink-soft">This reads every record. With a large ledger it takes minutes.</p>
            </Notice>
          )}
          {check.data !== undefined && <Verdict result={check.data} />}
        </div>
        <Card flush>
          <LoadedQuery query={check} loading={<Loading what="Checking the ledger" rows={8} />}>
            {({ checks }) => (
              <ul aria-label="Checks">
                {checks.map((each) => (
                  <CheckLine key={each.name} check={each} />
                ))}
              </ul>
            )}
          </LoadedQuery>
        </Card>
      </PageSections>
    </>
  );
}

function Verdict({ result: { balanced, checks, at } }: { result: LedgerCheckResult }) {
  const wrong = checks.filter(({ differences }) => differences.length > 0).length;
  const looked = checks.reduce((sum, { checked }) => sum + checked, 0);
  return (
    <Notice
      tone={balanced ? "good" : "bad"}
      title={
        balanced ? "The ledger balances" : `The ledger does not balance: ${wrong} of ${checks.length} checks failed`
      }
    >
      <p className="text-ink-soft">
        {checks.length} checks over <CountText of={looked} /> records, <TimeText at={at} as="full" />
      </p>
    </Notice>
  );
}

function CheckLine({ check: { name, checked, differences } }: { check: LedgerCheckResult["checks"][number] }) {
  const good = differences.length === 0;
  const Icon = good ? Check : X;
  return (
    <li className="border-b border-line px-4 py-3 last:border-b-0 sm:px-5">
      <div className="flex items-baseline gap-3">
        <Icon
          aria-hidden
          className={good ? "size-4 shrink-0 self-center text-good" : "size-4 shrink-0 self-center text-bad"}
        />
        <p className="min-w-0 flex-1 first-letter:uppercase">
          {name}
          <span className="sr-only">: {good ? "passed" : "failed"}</span>
        </p>
        <span className="shrink-0 text-xs text-ink-soft">
          <CountText of={checked} />
          <span className="sr-only"> records</span>
        </span>
      </div>
      {!good && (
        <ul className="mt-2 ml-7 flex flex-col gap-1">
          {differences.map((difference) => (
            <li key={difference} className="font-mono text-xs break-all text-bad">
              {difference}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}
