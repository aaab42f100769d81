/** A builder's API keys with spending, budget, expiry and creator. A click on a row opens the key's details. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ApiKey } from "../../api/answer-types.ts";
import { keysQuery } from "../../data/keys.ts";
import { useChosenAccount, useMe } from "../../data/signed-in-session.ts";
import { API_KEY_KIND } from "../../keys/api-keys.ts";
import { BudgetBars } from "../../keys/budget-bar.tsx";
import { computeKeyPermissions } from "../../keys/key-permissions.ts";
import { AllowedModels, KeyBadges, KeyExpiry } from "../../keys/key-state.tsx";
import { SecretsPage } from "../../secrets/secrets-page.tsx";
import { KeyRound } from "../../ui/icons.tsx";
import { moneyColumn } from "../../ui/money-text.tsx";
import type { Column } from "../../ui/table.tsx";
import { CountText, TimeText } from "../../ui/time-text.tsx";
import { CreateKeyDialog } from "./create-key.tsx";
import { KeyDrawer } from "./key-drawer.tsx";

export function KeysPage() {
  const { key } = useSearch({ from: "/app/keys" });
  const navigate = useNavigate({ from: "/keys" });
  const account = useChosenAccount("builder");
  const { identity } = useMe();
  const open = (id: string | undefined): void => void navigate({ search: id === undefined ? {} : { key: id } });
  return (
    <>
      <SecretsPage
        kind={API_KEY_KIND}
        query={useQuery(keysQuery)}
        title="API keys"
        about="Use one key per app or environment. Each key reports its own spend and can have a budget."
        icon={<KeyRound aria-hidden />}
        purpose="Create an API key to make your first request."
        columns={COLUMNS}
        opening={{ open: key, onOpen: ({ id }) => open(id), below: Below }}
        creating={(dialog) => <CreateKeyDialog {...dialog} />}
      />
      <KeyDrawer
        id={key}
        onClose={() => open(undefined)}
        may={computeKeyPermissions(account?.may ?? [], identity.email)}
      />
    </>
  );
}

/** The details below the name on narrow screens, which have no columns for them. */
const Below = (key: ApiKey) => (
  <>
    <span className="mt-1 flex flex-wrap gap-1 empty:hidden">
      <KeyBadges of={key} />
    </span>
    <span className="mt-1.5 block empty:hidden @2xl:hidden">
      <BudgetBars of={key} />
    </span>
  </>
);

const COLUMNS: Column<ApiKey>[] = [
  moneyColumn({
    title: "Spend this month",
    of: ({ spend_this_month }) => spend_this_month.charge_micro,
    below: ({ spend_this_month: { requests } }) => (
      <span className="block text-xs text-ink-soft">
        <CountText of={requests} /> {requests === 1 ? "request" : "requests"}
      </span>
    ),
  }),
  {
    title: "Budget",
    from: "md",
    cell: (key) =>
      key.budget_day_micro === null && key.budget_month_micro === null ? (
        <span className="text-ink-soft">None</span>
      ) : (
        <BudgetBars of={key} />
      ),
  },
  {
    title: "Models, expiry",
    from: "lg",
    cell: ({ models, expires_at }) => (
      <>
        <AllowedModels of={models} />
        <span className="block text-xs whitespace-nowrap text-ink-soft">
          {expires_at === null ? (
            "no expiry"
          ) : (
            <>
              until <KeyExpiry at={expires_at} />
            </>
          )}
        </span>
      </>
    ),
  },
  {
    title: "Created",
    from: "xl",
    className: "max-w-40 whitespace-nowrap",
    cell: ({ created_at, created_by }) => (
      <>
        <TimeText at={created_at} as="day" />
        {created_by !== null && (
          <span title={created_by.email} className="block truncate text-xs text-ink-soft">
            by {created_by.name}
          </span>
        )}
      </>
    ),
  },
];
