/** The list of notifications, newest first. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Account, Notification } from "../../api/answer-types.ts";
import { notificationInboxQuery, useMarkNotificationsRead } from "../../data/notifications.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Bell } from "../../ui/icons.tsx";
import { joinClasses } from "../../ui/join-classes.ts";
import { LoadMore } from "../../ui/load-more.tsx";
import { EmptyState, LoadedQuery } from "../../ui/loading-states.tsx";
import { TimeText } from "../../ui/time-text.tsx";
import { toastError } from "../../ui/toast.tsx";

export function InboxCard({ account }: { account: Account }) {
  const inbox = useInfiniteQuery(notificationInboxQuery(account.id));
  const { mutate: markRead, isPending } = useMarkNotificationsRead(account.id);
  const unread = inbox.data?.pages[0]?.unread ?? 0;
  return (
    <Card
      title="Latest"
      flush
      aside={
        unread > 0 && (
          <Button size="small" busy={isPending} onClick={() => markRead(undefined, { onError: toastError })}>
            Mark all as read
          </Button>
        )
      }
    >
      <LoadedQuery query={inbox}>
        {({ pages }) => {
          const rows = pages.flatMap(({ data }) => data);
          if (rows.length === 0) return <Nothing />;
          return (
            <>
              <ul className="border-t border-line">
                {rows.map((one) => (
                  <Row key={one.id} notification={one} onRead={() => markRead([one.id], { onError: toastError })} />
                ))}
              </ul>
              <LoadMore query={inbox} />
            </>
          );
        }}
      </LoadedQuery>
    </Card>
  );
}

const Nothing = () => (
  <EmptyState icon={<Bell />} title="No notifications">
    New notifications are listed here for 90 days.
  </EmptyState>
);

function Row({ notification, onRead }: { notification: Notification; onRead: () => void }) {
  const { title, text, page, read, created_at } = notification;
  return (
    <li className="flex gap-3 border-b border-line px-4 py-3 last:border-b-0 sm:px-5">
      <span
        aria-hidden
        className={joinClasses("mt-1.5 size-2 shrink-0 rounded-full", read ? "bg-transparent" : "bg-accent")}
      />
      <div className="min-w-0 flex-1 wrap-anywhere">
        <p className={read ? "" : "font-medium"}>
          {!read && <span className="sr-only">Unread: </span>}
          {title}
        </p>
        <p className="mt-0.5 text-ink-soft">{text}</p>
        <p className="mt-1.5 flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-ink-soft">
          <TimeText at={created_at} as="ago" />
          <Link to={`/${page}` as string} className="text-accent underline" onClick={() => !read && onRead()}>
            Open the page
          </Link>
          {!read && (
            <button type="button" className="text-accent underline" onClick={onRead}>
              Mark as read
            </button>
          )}
        </p>
      </div>
    </li>
  );
}
