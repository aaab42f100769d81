/** The page of an account's notifications, channels and deliveries. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Account } from "../../api/answer-types.ts";
import { notificationSettingsQuery } from "../../data/notifications.ts";
import { useChosenAccount } from "../../data/signed-in-session.ts";
import { Card, PageHeader } from "../../ui/card.tsx";
import { LoadedQuery } from "../../ui/loading-states.tsx";
import { PageSections } from "../../ui/page-sections.tsx";
import { SegmentedChoice } from "../../ui/segmented-choice.tsx";
import { ChannelChoices } from "./channel-choices.tsx";
import { DeliveryList } from "./delivery-list.tsx";
import { InboxCard } from "./inbox-card.tsx";
import { NotificationAddresses } from "./notification-addresses.tsx";

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
            <SegmentedChoice
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
    <PageSections>
      <InboxCard account={account} />
      <Card title="What is sent where" flush>
        <LoadedQuery query={settings}>
          {(found) => <ChannelChoices account={account} settings={found} mayChange={mayChange} />}
        </LoadedQuery>
      </Card>
      <LoadedQuery query={settings}>
        {(found) => <NotificationAddresses account={account} settings={found} mayChange={mayChange} />}
      </LoadedQuery>
      <DeliveryList account={account} />
    </PageSections>
  );
}
