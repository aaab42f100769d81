/** A notice about requests refused for lack of credit, by reason and key, with the next step. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { UnfundedRequests } from "../api/answer-types.ts";
import { balanceQuery } from "../data/balance-and-usage.ts";
import { keysQuery } from "../data/keys.ts";
import { creditRefusalsQuery, refusedCallsQuery } from "../data/requests.ts";
import { parseMicro } from "../dollar-amounts.ts";
import { findKeyName } from "../keys/key-names.ts";
import { formatWholeNumber } from "../locale.ts";
import { buttonClasses } from "../ui/button.tsx";
import { DataAge } from "../ui/loading-states.tsx";
import { Notice } from "../ui/notice.tsx";
import { FirstLoadPlaceholder, isFirstLoad } from "../ui/page-sections.tsx";
import { describeKeysRefusedForCredit, sumRequests } from "./keys-refused-for-credit.ts";
import { isRefusalWarningExpired } from "./refused-codes.ts";

const REASONS: Record<UnfundedRequests["reason"], { says: string; advice: ReactNode }> = {
  no_credit: { says: "no credit was left", advice: "Add credits." },
  hold: {
    says: "the request's maximum cost exceeded the available credit",
    advice: "Add credits, or send a lower max_tokens to reserve less.",
  },
  budget_day: {
    says: "the key's daily budget was used up",
    advice: "Raise the key's budget, or wait until midnight UTC.",
  },
  budget_month: {
    says: "the key's monthly budget was used up",
    advice: "Raise the key's budget, or wait until the month ends (UTC).",
  },
};

/** The error codes of requests refused for lack of credit. */
const CODES = ["insufficient_credits", "hold_exceeds_balance"];

interface Props {
  /** The start of the time range. */
  from: string;
  words: string;
  /** The start of the range in which refused calls are read, to find the time of the last refusal. */
  refusedFrom: string;
}

/**
 * Shown only if requests were refused for lack of credit. A warning while credit is missing or the last refusal is less
 * than an hour old, and otherwise a neutral note.
 */
export function UnfundedNotice({ from, words, refusedFrom }: Props) {
  const unfunded = useQuery(creditRefusalsQuery(from));
  const refusals = useQuery(refusedCallsQuery(refusedFrom));
  const credit = useQuery(balanceQuery);
  const { data: refused, dataUpdatedAt } = refusals;
  const hasCredit = credit.data !== undefined && parseMicro(credit.data.available_micro) > 0n;
  const lately = refused?.data.filter(({ code }) => CODES.includes(code)) ?? [];
  const over = hasCredit && refused !== undefined && isRefusalWarningExpired(lately, dataUpdatedAt);
  const rows = unfunded.data?.data ?? [];
  const total = sumRequests(rows);
  const keys = useQuery({ ...keysQuery, enabled: total > 0 });
  if (total === 0) return <FirstLoadPlaceholder query={unfunded} />;
  const awaited = [refusals, credit, keys].find(isFirstLoad);
  if (awaited !== undefined) return <FirstLoadPlaceholder query={awaited} />;
  const nameOf = (id: string): string => findKeyName(keys.data?.data, id);
  const reasons = [...Map.groupBy(rows, ({ reason }) => reason)].sort(
    ([, a], [, b]) => sumRequests(b) - sumRequests(a),
  );
  return (
    <Notice
      tone={over ? "neutral" : "warn"}
      title={`${formatWholeNumber(total)} ${total === 1 ? "request was" : "requests were"} refused for insufficient credit in ${words}`}
      action={
        reasons.some(([reason]) => reason === "no_credit" || reason === "hold") && (
          <Link to="/credits" className={buttonClasses("plain")}>
            Add credits
          </Link>
        )
      }
    >
      <DataAge query={unfunded} />
      <ul className="flex flex-col gap-1">
        {over && <li className="text-ink-soft">No request was refused for insufficient credit in the last hour.</li>}
        {reasons.map(([reason, of]) => (
          <li key={reason}>
            {formatWholeNumber(sumRequests(of))}: {REASONS[reason].says} ({describeKeysRefusedForCredit(of, nameOf)}).{" "}
            {REASONS[reason].advice}
          </li>
        ))}
      </ul>
    </Notice>
  );
}
