/** The latest emails and webhook calls with their results. */
import { useQuery } from "@tanstack/react-query";
import type { Account, Delivery } from "../../api/answer-types.ts";
import { deliveriesQuery } from "../../data/notifications.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { EmptyState, LoadedQuery } from "../../ui/loading-states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { TimeText } from "../../ui/time-text.tsx";
import { CHANNEL_NAMES, DELIVERY_STATE_TONES, NOTIFICATION_KIND_TEXTS } from "./notification-texts.ts";

export function DeliveryList({ account }: { account: Account }) {
  const query = useQuery(deliveriesQuery(account.id));
  return (
    <Card title="Deliveries" flush>
      <LoadedQuery query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState title="Nothing was sent yet">
              This list will show each email and webhook call, with the server's response.
            </EmptyState>
          ) : (
            <Table label="Deliveries" columns={COLUMNS} rows={data} keyOf={({ id }) => id} />
          )
        }
      </LoadedQuery>
    </Card>
  );
}

const COLUMNS: Column<Delivery>[] = [
  {
    title: "Event",
    cell: (row) => (
      <>
        <span className="block">{row.kind === null ? "Email" : NOTIFICATION_KIND_TEXTS[row.kind].name}</span>
        <span className="block text-xs wrap-anywhere text-ink-soft">
          {CHANNEL_NAMES[row.channel]}
          {row.to !== null && ` to ${row.to}`}
        </span>
      </>
    ),
  },
  { title: "State", cell: ({ state }) => <Badge tone={DELIVERY_STATE_TONES[state]}>{state}</Badge> },
  { title: "Response", from: "sm", cell: responseOf },
  { title: "Tries", from: "md", align: "right", cell: ({ tries }) => tries },
  { title: "Next try", from: "md", cell: ({ next_try_at: at }) => (at === null ? "–" : <TimeText at={at} />) },
  { title: "Time", align: "right", cell: ({ created_at }) => <TimeText at={created_at} /> },
];

function responseOf({ answer_status, problem, tries }: Delivery): string {
  if (answer_status !== null) return `HTTP ${answer_status}`;
  return problem ?? (tries === 0 ? "not sent yet" : "–");
}
