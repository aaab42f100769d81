/** The end of a paginated list. Loads the next page when it becomes visible or is clicked. */
import { useEffect, useRef } from "react";
import { errorMessage } from "../api/api-fault.ts";
import { Button } from "./button.tsx";

export interface PagedQuery {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  isFetchNextPageError: boolean;
  error: unknown;
  fetchNextPage: () => unknown;
}

export function LoadMore({ query }: { query: PagedQuery }) {
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, error, fetchNextPage } = query;
  const mark = useRef<HTMLDivElement>(null);
  const ready = hasNextPage && !isFetchingNextPage && !isFetchNextPageError;
  // biome-ignore lint/correctness/useExhaustiveDependencies: fetchNextPage is a new function at every turn
  useEffect(() => {
    if (!ready || mark.current === null) return;
    const watch = new IntersectionObserver(([entry]) => entry?.isIntersecting === true && fetchNextPage(), {
      rootMargin: "300px",
    });
    watch.observe(mark.current);
    return () => watch.disconnect();
  }, [ready]);
  return (
    <div ref={mark} className="flex flex-col items-center gap-2 border-t border-line px-4 py-3 text-xs text-ink-soft">
      {isFetchNextPageError && <p className="text-bad">{errorMessage(error)}</p>}
      {hasNextPage ? (
        <Button look="quiet" size="small" busy={isFetchingNextPage} onClick={() => fetchNextPage()}>
          {isFetchNextPageError ? "Try again" : "Load more"}
        </Button>
      ) : (
        <p>End of list</p>
      )}
    </div>
  );
}
