/** What a list or a number shows when it has nothing to show: still loading, empty, or refused. */
import type { UseQueryResult } from "@tanstack/react-query";
import { CircleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { sentenceOf } from "../api/fault.ts";
import { Button } from "./button.tsx";
import { classes } from "./classes.ts";

export function Skeleton({ className }: { className?: string }) {
  return <div aria-hidden className={classes("animate-breathe rounded-md bg-sunken", className)} />;
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
  /** What would fill it. */
  children?: ReactNode;
  action?: ReactNode;
}

export function Empty({ icon, title, children, action }: EmptyProps) {
  return (
    <div className="flex flex-col items-center gap-1.5 px-6 py-12 text-center">
      {icon !== undefined && <div className="mb-2 text-ink-soft [&_svg]:size-7">{icon}</div>}
      <p className="font-medium">{title}</p>
      {children !== undefined && <div className="max-w-md text-ink-soft">{children}</div>}
      {action !== undefined && <div className="mt-3">{action}</div>}
    </div>
  );
}

export function Refused({ error, again }: { error: unknown; again?: () => void }) {
  return (
    <div role="alert" className="flex flex-col items-center gap-1.5 px-6 py-10 text-center">
      <CircleAlert aria-hidden className="mb-1 size-7 text-bad" />
      <p className="font-medium">This could not be loaded</p>
      <p className="max-w-md text-ink-soft">{sentenceOf(error)}</p>
      {again !== undefined && (
        <Button className="mt-3" onClick={again}>
          Try again
        </Button>
      )}
    </div>
  );
}

interface LoadedProps<Data> {
  query: Pick<UseQueryResult<Data>, "data" | "error" | "refetch">;
  loading?: ReactNode;
  children: (data: Data) => ReactNode;
}

/** One place for the three states of anything that is asked for; what was loaded once stays while it is asked again. */
export function Loaded<Data>({ query, loading = <Loading />, children }: LoadedProps<Data>) {
  const { data, error, refetch } = query;
  if (data !== undefined) return children(data);
  if (error !== null) return <Refused error={error} again={() => void refetch()} />;
  return loading;
}
