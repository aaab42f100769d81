/** The page of an account's notifications, channels and deliveries. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Account } from "../../api/types.ts";
import { notificationSettingsQuery } from "../../data/notifications.ts";
import { useChosenAccount } from "../../data/session.ts";
import { Card, PageHeader } from "../../ui/card.tsx";
import { Sections } from "../../ui/sections.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { Loaded } from "../../ui/states.tsx";
import { Addresses } from "./addresses.tsx";
import { Choices } from "./choices.tsx";
import { Deliveries } from "./deliveries.tsx";
import { InboxCard } from "./inbox-card.tsx";

const KINDS = [
  { value: "builder", label: "Builder account" },
  { value: "host", label: "Host account" },
] as const;

export function NotificationsPage() {
  const builder = useChosenAccount("builder");
  const host = useChosenAccount("host");
  const { account: asked } = useSearch({ from: "/app/notifications" });
  const navigate = useNavigate();
  const account = asked === "host" ? (host ?? builder) : (builder ?? host);
  if (account === undefined) return <PageHeader title="Notifications" about="You have no account yet." />;
  return (
    <>
      <PageHeader
        title="Notifications"
        about={
          <>
            Events in <strong className="font-medium text-ink">{account.name}</strong>, your {account.kind} account, and
            how you are notified of them.
          </>
        }
        actions={
          builder !== undefined &&
          host !== undefined && (
            <Segmented
              label="Account"
              value={account.kind}
              options={[...KINDS]}
              onChange={(kind) =>
                void navigate({ to: "/notifications", search: kind === "host" ? { account: kind } : {} })
              }
            />
          )
        }
      />
      <AccountSections key={account.id} account={account} />
    </>
  );
}

function AccountSections({ account }: { account: Account }) {
  const settings = useQuery(notificationSettingsQuery(account.id));
  const mayChange = account.may.includes("pay");
  return (
    <Sections>
      <InboxCard account={account} />
      <Card title="What is sent where" flush>
        <Loaded query={settings}>
          {(found) => <Choices account={account} settings={found} mayChange={mayChange} />}
        </Loaded>
      </Card>
      <Loaded query={settings}>
        {(found) => <Addresses account={account} settings={found} mayChange={mayChange} />}
      </Loaded>
      <Deliveries account={account} />
    </Sections>
  );
}
