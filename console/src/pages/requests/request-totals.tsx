/** The totals of all matching requests. */
import { useQuery } from "@tanstack/react-query";
import type { RequestFilter } from "../../api/answer-types.ts";
import { requestTotalsQuery } from "../../data/requests.ts";
import { DataAge, Skeleton } from "../../ui/loading-states.tsx";
import { MoneyText } from "../../ui/money-text.tsx";
import { CountText } from "../../ui/time-text.tsx";

export function RequestTotals({ filter, enabled }: { filter: RequestFilter; enabled: boolean }) {
  const query = useQuery({ ...requestTotalsQuery(filter), enabled });
  const { data, error } = query;
  // Shows nothing after an error: the list below shows the error of an invalid filter, and totals are omitted for a
  // time span that is too long for them.
  if (data === undefined && error !== null) return null;
  return (
    <dl
      aria-label="Totals"
      className="flex flex-wrap gap-x-6 gap-y-1 border-b border-line px-4 py-2.5 text-ink-soft sm:px-5 [&_dd]:font-medium [&_dd]:text-ink [&_div]:flex [&_div]:gap-1.5"
    >
      {data === undefined ? (
        <Skeleton className="h-5 w-64" />
      ) : (
        <>
          <div>
            <dt>Requests</dt>
            <dd>
              <CountText of={data.requests} />
            </dd>
          </div>
          <div>
            <dt>Tokens in</dt>
            <dd>
              <CountText of={data.prompt_tokens} />
            </dd>
          </div>
          <div>
            <dt>Tokens out</dt>
            <dd>
              <CountText of={data.completion_tokens} />
            </dd>
          </div>
          <div>
            <dt>Spend</dt>
            <dd>
              <MoneyText of={data.charge_micro} as="balance" />
            </dd>
          </div>
          <DataAge query={query} />
        </>
      )}
    </dl>
  );
}
