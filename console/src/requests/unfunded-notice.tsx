/** How many requests were refused for want of credit, by reason and key, and what to do about it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Unfunded } from "../api/types.ts";
import { keysQuery } from "../data/keys.ts";
import { unfundedQuery } from "../data/requests.ts";
import { keyName } from "../keys/key-names.ts";
import { countText } from "../locale.ts";
import { buttonClasses } from "../ui/button.tsx";
import { Notice } from "../ui/notice.tsx";
import { keysText, sum } from "./unfunded-keys.ts";

const REASONS: Record<Unfunded["reason"], { says: string; advice: ReactNode }> = {
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

/** `from`: since when; `words`: the same in words. Nothing where there was none. */
export function UnfundedNotice({ from, words }: { from: string; words: string }) {
  const { data } = useQuery(unfundedQuery(from));
  const rows = data?.data ?? [];
  const total = sum(rows);
  const { data: keys } = useQuery({ ...keysQuery, enabled: total > 0 });
  if (total === 0) return null;
  const nameOf = (id: string): string => keyName(keys?.data, id);
  const reasons = [...Map.groupBy(rows, ({ reason }) => reason)].sort(([, a], [, b]) => sum(b) - sum(a));
  return (
    <Notice
      tone="warn"
      title={`${countText(total)} ${total === 1 ? "request was" : "requests were"} refused for insufficient credit in ${words}`}
      action={
        reasons.some(([reason]) => reason === "no_credit" || reason === "hold") && (
          <Link to="/credits" className={buttonClasses("plain")}>
            Add credits
          </Link>
        )
      }
    >
      <ul className="flex flex-col gap-1">
        {reasons.map(([reason, of]) => (
          <li key={reason}>
            {countText(sum(of))}: {REASONS[reason].says} ({keysText(of, nameOf)}). {REASONS[reason].advice}
          </li>
        ))}
      </ul>
    </Notice>
  );
}
