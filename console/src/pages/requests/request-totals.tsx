/** The totals of all matching requests. */
import { useQuery } from "@tanstack/react-query";
import type { RequestFilter } from "../../api/types.ts";
import { requestTotalsQuery } from "../../data/requests.ts";
import { Skeleton } from "../../ui/loading-states.tsx";
import { Money } from "../../ui/money.tsx";
import { CountText } from "../../ui/time.tsx";

export function RequestTotals({ filter, enabled }: { filter: RequestFilter; enabled: boolean }) {
  const { data, error } = useQuery({ ...requestTotalsQuery(filter), enabled });
  // The list below shows an invalid filter's error. Totals that need a shorter time span are omitted.
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
              <Money of={data.charge_micro} as="balance" />
            </dd>
          </div>
        </>
      )}
    </dl>
  );
}
