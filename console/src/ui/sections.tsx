/**
 * The sections of a page, one below the other. While the page loads, those below a section that is still loading are hidden, so that
 * nothing moves that was shown already. All of them ask for their data at once.
 */
import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef, useState } from "react";

/** What is marked so has no data yet. `styles.css` hides what follows it. */
const LOADING = "[data-loading]";

export function Sections({ children }: { children: ReactNode }) {
  const element = useRef<HTMLDivElement>(null);
  // Later on, when a range or a filter changes, what is shown stays.
  const [isFirst, setFirst] = useState(true);
  useEffect(() => {
    const look = (): void => {
      if (element.current?.querySelector(LOADING) != null) return;
      setFirst(false);
      watch.disconnect();
    };
    const watch = new MutationObserver(look);
    if (element.current !== null) watch.observe(element.current, { subtree: true, childList: true, attributes: true });
    look();
    return () => watch.disconnect();
  }, []);
  return (
    <div ref={element} data-first-load={isFirst ? "" : undefined} className="flex flex-col gap-5">
      {children}
    </div>
  );
}

type Asked = Pick<UseQueryResult, "data" | "error" | "failureCount">;

/** Not once its first request has failed: the others are shown without it. */
export const isAwaited = ({ data, error, failureCount }: Asked): boolean =>
  data === undefined && error === null && failureCount === 0;

/** In place of a section that shows nothing, or is not there, until its data has come. */
export const Awaited = ({ query }: { query: Asked }) => (isAwaited(query) ? <div hidden data-loading="" /> : null);
