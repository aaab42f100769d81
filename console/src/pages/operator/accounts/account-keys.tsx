/** An account's keys with spending and limits. Operators can change the limits. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { PlatformKey } from "../../../api/answer-types.ts";
import { accountKeysQuery } from "../../../data/platform-accounts.ts";
import { BudgetBars } from "../../../keys/budget-bar.tsx";
import { AllowedModels, KeyBadges, KeyExpiry } from "../../../keys/key-state.tsx";
import { Badge } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { LoadedQuery } from "../../../ui/loading-states.tsx";
import { MoneyText } from "../../../ui/money-text.tsx";
import { CountText, TimeText } from "../../../ui/time-text.tsx";
import { KeyLimitsDialog } from "./key-limits.tsx";

export function AccountKeys({ accountId }: { accountId: string }) {
  const keys = useQuery(accountKeysQuery(accountId));
  const [changing, setChanging] = useState<PlatformKey>();
  return (
    <>
      <LoadedQuery query={keys}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="text-ink-soft">No API keys.</p>
          ) : (
            <ul aria-label="API keys" className="flex flex-col rounded-md border border-line">
              {data.map((key) => (
                <Line key={key.id} apiKey={key} onChange={() => setChanging(key)} />
              ))}
            </ul>
          )
        }
      </LoadedQuery>
      {changing !== undefined && <KeyLimitsDialog apiKey={changing} onClose={() => setChanging(undefined)} />}
    </>
  );
}

function Line({ apiKey, onChange }: { apiKey: PlatformKey; onChange: () => void }) {
  const { name, start, spend_this_month: spend, last_used_at, revoked_at } = apiKey;
  return (
    <li className="flex items-center justify-between gap-3 border-b border-line px-3 py-2.5 last:border-b-0">
      <div className="min-w-0">
        <p className="truncate font-medium">{name}</p>
        <code className="block truncate font-mono text-xs text-ink-soft">{start}_…</code>
        <p className="mt-0.5 text-xs text-ink-soft">
          <MoneyText of={spend.charge_micro} /> this month, <CountText of={spend.requests} />{" "}
          {spend.requests === 1 ? "request" : "requests"} ·{" "}
          {last_used_at === null ? (
            "never used"
          ) : (
            <>
              used <TimeText at={last_used_at} as="ago" />
            </>
          )}
        </p>
        <p className="mt-0.5 text-xs text-ink-soft">
          Models: <AllowedModels of={apiKey.models} /> · Expires: <KeyExpiry at={apiKey.expires_at} />
          {apiKey.created_by !== null && <> · Created by {apiKey.created_by.name}</>}
        </p>
        <p className="mt-0.5 text-xs text-ink-soft">
          <Limit of="requests_per_minute" apiKey={apiKey} /> requests/min ·{" "}
          <Limit of="tokens_per_minute" apiKey={apiKey} /> tokens/min · <Limit of="in_flight" apiKey={apiKey} />{" "}
          concurrent
        </p>
        <div className="mt-1.5 flex flex-wrap gap-1 empty:hidden">
          {revoked_at === null && <KeyBadges of={apiKey} />}
        </div>
        <div className="mt-1.5 empty:hidden">
          <BudgetBars of={apiKey} />
        </div>
      </div>
      {revoked_at === null ? (
        <Button size="small" onClick={onChange} aria-label={`Limits of ${name}`}>
          Limits
        </Button>
      ) : (
        <Badge>revoked</Badge>
      )}
    </li>
  );
}

/** The effective limit; in a darker color if it was set for this key. */
function Limit({ of, apiKey }: { of: keyof PlatformKey["limits"]; apiKey: PlatformKey }) {
  const { limits, own_limits, limits_set } = apiKey;
  if (own_limits[of] === null && limits_set[of] === null) return <CountText of={limits[of]} />;
  const byOwner = limits_set[of] === limits[of];
  return (
    <span className="font-medium text-ink" title={byOwner ? "Set by the key's owner" : "Set for this key"}>
      <CountText of={limits[of]} />
    </span>
  );
}
