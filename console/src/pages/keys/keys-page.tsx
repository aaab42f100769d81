/** A builder's API keys: what each spent, when it was last used, what it may do. */
import { useQuery } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import type { ApiKey } from "../../api/types.ts";
import { keysQuery } from "../../data/keys.ts";
import { SecretsPage } from "../../secrets/secrets-page.tsx";
import { moneyColumn } from "../../ui/money.tsx";
import type { Column } from "../../ui/table.tsx";
import { Count, Time } from "../../ui/time.tsx";
import { API_KEYS } from "./api-keys.ts";

export const KeysPage = () => (
  <SecretsPage
    kind={API_KEYS}
    query={useQuery(keysQuery)}
    title="API keys"
    about="Spend is reported by key. Use one key per app or environment."
    icon={<KeyRound aria-hidden />}
    purpose="Create one to make your first request."
    columns={COLUMNS}
    revoking={({ last_used_at }) => (
      <>
        Requests with this key are refused from now on.{" "}
        {last_used_at === null ? (
          "It was never used."
        ) : (
          <>
            It was last used <Time at={last_used_at} as="ago" />.
          </>
        )}
      </>
    )}
  />
);

const COLUMNS: Column<ApiKey>[] = [
  moneyColumn({
    title: "Spend this month",
    of: ({ spend_this_month }) => spend_this_month.charge_micro,
    below: ({ spend_this_month: { requests } }) => (
      <span className="block text-xs text-ink-soft">
        <Count of={requests} /> {requests === 1 ? "request" : "requests"}
      </span>
    ),
  }),
  {
    title: "Limits",
    from: "lg",
    cell: ({ limits }) => (
      <span className="text-xs text-ink-soft">
        <Count of={limits.requests_per_minute} /> requests/min · <Count of={limits.tokens_per_minute} /> tokens/min
        <span className="block">
          <Count of={limits.in_flight} /> concurrent
        </span>
      </span>
    ),
  },
];
