/** The user's sessions on all devices, each with a button that ends it. */
import { useQuery } from "@tanstack/react-query";
import type { Session } from "../../api/answer-types.ts";
import { sessionsQuery, useEndOtherSessions, useEndSession } from "../../data/sign-in-security.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { LoadedQuery } from "../../ui/loading-states.tsx";
import { TimeText } from "../../ui/time-text.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { browserName } from "./browser-name.ts";

export function SessionsCard() {
  const sessions = useQuery(sessionsQuery);
  const endOthers = useEndOtherSessions();
  const others = (sessions.data?.data.length ?? 0) > 1;
  return (
    <Card
      title="Active sessions"
      flush
      aside={
        others && (
          <Button
            size="small"
            busy={endOthers.isPending}
            onClick={() =>
              endOthers.mutate(undefined, {
                onSuccess: ({ ended }) => toast(`Signed out of ${ended} other ${ended === 1 ? "session" : "sessions"}`),
                onError: toastError,
              })
            }
          >
            Sign out other sessions
          </Button>
        )
      }
    >
      <LoadedQuery query={sessions}>
        {({ data }) => (
          <ul className="border-t border-line">
            {data.map((session) => (
              <SessionRow key={session.id} session={session} />
            ))}
          </ul>
        )}
      </LoadedQuery>
    </Card>
  );
}

function SessionRow({ session }: { session: Session }) {
  const end = useEndSession();
  const { script_access: access } = session;
  const name = access === null ? browserName(session.user_agent) : (session.user_agent ?? "A script");
  return (
    <li className="flex items-center justify-between gap-3 border-b border-line px-4 py-2.5 last:border-b-0 sm:px-5">
      <span className="min-w-0">
        <span className="flex items-center gap-2">
          <span className="truncate font-medium">{name}</span>
          {access !== null && <Badge tone="accent">{access === "read" ? "script, read-only" : "script"}</Badge>}
        </span>
        <span className="text-xs text-ink-soft">
          {session.address ?? "unknown address"} · since <TimeText at={session.created_at} as="full" />
          {access !== null && (
            <>
              , until <TimeText at={session.expires_at} as="full" />
            </>
          )}
        </span>
      </span>
      {session.current ? (
        <Badge tone="good">this session</Badge>
      ) : (
        <Button
          size="small"
          aria-label={`Sign out ${name}`}
          busy={end.isPending}
          onClick={() => end.mutate(session.id, { onSuccess: () => toast("Session signed out"), onError: toastError })}
        >
          Sign out
        </Button>
      )}
    </li>
  );
}
