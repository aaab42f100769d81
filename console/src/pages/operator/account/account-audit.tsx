/** The latest audit log entries about an account, its keys and its nodes. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { auditQuery } from "../../../data/platform-overview.ts";
import { Card } from "../../../ui/card.tsx";
import { LoadedQuery } from "../../../ui/loading-states.tsx";
import { TimeText } from "../../../ui/time-text.tsx";
import { AuditEntry, AuditOutcome } from "../audit/audit-entry.tsx";

const SHOWN_MAX = 10;

export function AccountAudit({ id }: { id: string }) {
  const audit = useInfiniteQuery(auditQuery({ account: id }));
  return (
    <Card
      title="Audit log"
      flush
      aside={
        <Link to="/operator/audit" search={{ account: id }} className="text-accent underline-offset-2 hover:underline">
          View all
        </Link>
      }
    >
      <LoadedQuery query={audit}>
        {({ pages }) => {
          const acts = pages.flatMap(({ data }) => data).slice(0, SHOWN_MAX);
          if (acts.length === 0)
            return <p className="px-4 pb-4 text-ink-soft sm:px-5">No operator actions on this account.</p>;
          return (
            <ul aria-label="Audit log" className="border-t border-line">
              {acts.map((action, place) => (
                <li
                  key={keyOf(action, place)}
                  className="flex items-start justify-between gap-4 border-b border-line px-4 py-3 last:border-b-0 sm:px-5"
                >
                  <div className="min-w-0">
                    <AuditEntry action={action} />
                    <p className="mt-0.5 text-xs text-ink-soft">
                      <TimeText at={action.at} as="full" />
                    </p>
                  </div>
                  <AuditOutcome of={action.outcome} />
                </li>
              ))}
            </ul>
          );
        }}
      </LoadedQuery>
    </Card>
  );
}

/** The React key of an entry. It includes the index, because equal actions may have the same second. */
const keyOf = ({ at, action }: { at: number; action: string }, place: number): string => `${at} ${action} ${place}`;
