/**
 * The sections of a page, one below the other. While the page first loads, all sections below a loading one are hidden,
 * so that nothing visible moves. All sections request their data at once.
 */
import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef, useState } from "react";

/** Marks an element without data. `styles.css` hides everything after it. */
const LOADING = "[data-loading]";

export function PageSections({ children }: { children: ReactNode }) {
  const element = useRef<HTMLDivElement>(null);
  // Only during the first load. Later changes, for example of the range, leave visible sections in place.
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

/** Whether a query's first request is still running. False once it has failed, so that the other sections are shown. */
export const isFirstLoad = ({ data, error, failureCount }: Asked): boolean =>
  data === undefined && error === null && failureCount === 0;

/** A placeholder for a section that renders nothing until its data has loaded. */
export const FirstLoadPlaceholder = ({ query }: { query: Asked }) =>
  isFirstLoad(query) ? <div hidden data-loading="" /> : null;
