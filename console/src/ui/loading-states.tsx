/** What a list or a number shows without data: loading, empty or failed. */
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ApiFault, errorMessage } from "../api/api-fault.ts";
import { type AgedQuery, useDataAge } from "../data/outdated-data.ts";
import { formatClockTime } from "../locale.ts";
import { Button } from "./button.tsx";
import { Stat } from "./card.tsx";
import { CircleAlert } from "./icons.tsx";
import { joinClasses } from "./join-classes.ts";
import { isFirstLoad } from "./page-sections.tsx";

export function Skeleton({ className }: { className?: string }) {
  return <div aria-hidden className={joinClasses("animate-breathe rounded-md bg-sunken", className)} />;
}

export function Loading({ what = "Loading", rows = 4 }: { what?: string; rows?: number }) {
  return (
    <div role="status" className="flex flex-col gap-3 px-4 py-5 sm:px-5">
      <span className="sr-only">{what}…</span>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: bars without identity
        <Skeleton key={row} className="h-5 w-full" />
      ))}
    </div>
  );
}

interface EmptyProps {
  icon?: ReactNode;
  title: string;
  /** Says how the user can fill the empty list. */
  children?: ReactNode;
  action?: ReactNode;
}

export function EmptyState({ icon, title, children, action }: EmptyProps) {
  return (
    <div className="flex flex-col items-center gap-1.5 px-6 py-12 text-center">
      {icon !== undefined && <div className="mb-2 text-ink-soft [&_svg]:size-7">{icon}</div>}
      <p className="font-medium">{title}</p>
      {children !== undefined && <div className="max-w-md text-ink-soft">{children}</div>}
      {action !== undefined && <div className="mt-3">{action}</div>}
    </div>
  );
}

interface RefusedProps {
  error: unknown;
  again?: () => void;
  /** A button besides the retry button. */
  action?: ReactNode;
}

/** Statuses that a retry cannot fix: the object is missing or the request is invalid. */
const LASTING = [400, 404, 422];

export function LoadError({ error, again, action }: RefusedProps) {
  const lasting = error instanceof ApiFault && LASTING.includes(error.status);
  return (
    <div role="alert" className="flex flex-col items-center gap-1.5 px-6 py-10 text-center">
      <CircleAlert aria-hidden className="mb-1 size-7 text-bad" />
      <p className="font-medium">{lasting ? "Not available" : "Could not load"}</p>
      <p className="max-w-md text-ink-soft">{errorMessage(error)}</p>
      <div className="mt-3 flex flex-wrap justify-center gap-2 empty:hidden">
        {again !== undefined && !lasting && <Button onClick={again}>Try again</Button>}
        {action}
      </div>
    </div>
  );
}

interface LoadedProps<Data> {
  query: Pick<UseQueryResult<Data>, "data" | "error" | "refetch"> & AgedQuery;
  loading?: ReactNode;
  /** A button besides the retry button if loading failed. */
  action?: ReactNode;
  children: (data: Data) => ReactNode;
}

/** Renders a query's state. Loaded data stays visible during a refresh. */
export function LoadedQuery<Data>({ query, loading = <Loading />, action, children }: LoadedProps<Data>) {
  const { data, error, refetch } = query;
  const age = useDataAge(query);
  if (data !== undefined) {
    return (
      <>
        {age !== undefined && (
          <p className="px-4 py-2 text-xs sm:px-5">
            <AsOf atMs={age} />
          </p>
        )}
        {children(data)}
      </>
    );
  }
  if (error !== null) return <LoadError error={error} again={() => void refetch()} action={action} />;
  return isFirstLoad(query) ? (
    <div data-loading="" className="contents">
      {loading}
    </div>
  ) : (
    loading
  );
}

/** The time at which the query's figures were read, if they are outdated. For places without `LoadedQuery`. */
export function DataAge({ query }: { query: AgedQuery }) {
  const age = useDataAge(query);
  return age === undefined ? null : <AsOf atMs={age} />;
}

/** The time at which an outdated figure was read. */
const AsOf = ({ atMs }: { atMs: number }) => (
  <span className="font-medium text-warn">As of {formatClockTime(atMs)}</span>
);

interface LoadedStatProps<Data> extends Pick<LoadedProps<Data>, "query" | "children"> {
  label: string;
  note?: (data: Data) => ReactNode;
}

/** Renders the query's state for one number of a <Stats>. If it cannot be loaded, the other numbers stay. */
export function LoadedStat<Data>({ query, label, note, children }: LoadedStatProps<Data>) {
  const { data, error, refetch } = query;
  const age = useDataAge(query);
  if (data !== undefined) {
    return (
      <Stat label={label} note={age === undefined ? note?.(data) : <AsOf atMs={age} />}>
        {children(data)}
      </Stat>
    );
  }
  if (error === null) {
    return (
      <Stat
        label={label}
        note={note !== undefined && <Skeleton className="inline-block h-3 w-32 max-w-full align-middle" />}
      >
        <span data-loading={isFirstLoad(query) ? "" : undefined}>
          <Skeleton className="inline-block h-[0.8em] w-24 max-w-full" />
        </span>
      </Stat>
    );
  }
  return (
    <Stat label={label} note={<span role="alert">{errorMessage(error)}</span>}>
      <Button size="small" aria-label={`Try again: ${label}`} onClick={() => void refetch()}>
        Try again
      </Button>
    </Stat>
  );
}
