/** The bell icon: a link to the notifications with the number of unread ones. */
import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { unreadCountQuery } from "../data/notifications.ts";
import { useChosenAccount } from "../data/signed-in-session.ts";
import { Bell as BellIcon } from "../ui/icons.tsx";

/** The API counts only up to this number. */
const UNREAD_MAX = 100;

export function NotificationBell() {
  const accounts = [useChosenAccount("builder"), useChosenAccount("host")].filter((account) => account !== undefined);
  const counts = useQueries({ queries: accounts.map(({ id }) => unreadCountQuery(id)) });
  if (accounts.length === 0) return null;
  const unread = counts.reduce((sum, { data }) => sum + (data?.unread ?? 0), 0);
  const withUnread = accounts.find((_, place) => (counts[place]?.data?.unread ?? 0) > 0);
  const many = unread >= UNREAD_MAX ? "99+" : String(unread);
  return (
    <Link
      to="/notifications"
      search={withUnread?.kind === "host" && accounts.length > 1 ? { account: "host" } : {}}
      title="Notifications"
      aria-label={unread === 0 ? "Notifications" : `Notifications, ${many} unread`}
      className="relative inline-flex size-8 items-center justify-center rounded-md text-ink-soft transition-colors hover:bg-sunken hover:text-ink aria-[current=page]:text-accent"
    >
      <BellIcon aria-hidden className="size-4" />
      {unread > 0 && (
        <span
          aria-hidden
          className="absolute top-0 right-0 min-w-4 rounded-full bg-accent px-1 text-center text-[0.625rem] leading-4 font-semibold text-accent-ink"
        >
          {many}
        </span>
      )}
    </Link>
  );
}
