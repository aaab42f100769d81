/** The last result of the ledger check, and the way to a new one. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ledgerCheckQuery } from "../../../data/platform.ts";
import { buttonClasses } from "../../../ui/button.tsx";
import { Notice } from "../../../ui/notice.tsx";
import { Time } from "../../../ui/time.tsx";

export function LedgerNotice() {
  // Not asked for by this page: the check reads the whole ledger.
  const { data } = useQuery({ ...ledgerCheckQuery, enabled: false });
  const open = (
    <Link to="/operator/ledger" className={buttonClasses("plain", "small")}>
      {data === undefined ? "Check the ledger" : "View checks"}
    </Link>
  );
  if (data === undefined)
    return <Notice tone="neutral" title="The ledger has not been checked in this session" action={open} />;
  return (
    <Notice
      tone={data.balanced ? "good" : "bad"}
      title={data.balanced ? "The ledger balances" : "The ledger does not balance"}
      action={open}
    >
      <p className="text-ink-soft">
        Checked <Time at={data.checkedAt} as="ago" />
      </p>
    </Notice>
  );
}
