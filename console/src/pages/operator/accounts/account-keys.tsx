/** An account's keys with their limits, each of which an operator can change. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ApiKey } from "../../../api/types.ts";
import { accountKeysQuery } from "../../../data/platform-accounts.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { Loaded } from "../../../ui/states.tsx";
import { Count } from "../../../ui/time.tsx";
import { KeyLimitsDialog } from "./key-limits.tsx";

export function AccountKeys({ accountId }: { accountId: string }) {
  const keys = useQuery(accountKeysQuery(accountId));
  const [changing, setChanging] = useState<ApiKey>();
  return (
    <section>
      <h3 className="mb-2 font-semibold">API keys</h3>
      <Loaded query={keys}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="text-ink-soft">No keys.</p>
          ) : (
            <ul aria-label="API keys" className="flex flex-col rounded-md border border-line">
              {data.map((key) => (
                <Line key={key.id} apiKey={key} onChange={() => setChanging(key)} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {changing !== undefined && <KeyLimitsDialog apiKey={changing} onClose={() => setChanging(undefined)} />}
    </section>
  );
}

function Line({ apiKey: { name, start, limits, revoked_at }, onChange }: { apiKey: ApiKey; onChange: () => void }) {
  return (
    <li className="flex items-center justify-between gap-3 border-b border-line px-3 py-2.5 last:border-b-0">
      <div className="min-w-0">
        <p className="truncate font-medium">{name}</p>
        <code className="block truncate font-mono text-xs text-ink-soft">{start}_…</code>
        <p className="mt-0.5 text-xs text-ink-soft">
          <Count of={limits.requests_per_minute} /> requests/min · <Count of={limits.tokens_per_minute} /> tokens/min ·{" "}
          <Count of={limits.in_flight} /> at once
        </p>
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
