/** Loads the code of the other pages while the browser is idle, so that each opens at once, even during an outage. */
import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import type { Me } from "../api/answer-types.ts";

/** The delay after which the page itself should be loaded. */
const AFTER_MS = 2_000;

export function usePreloadPages({ identity: { operator } }: Me): void {
  const router = useRouter();
  useEffect(() => {
    let over = false;
    const all = async (): Promise<void> => {
      for (const route of Object.values(router.routesById)) {
        if (over) return;
        if (operator || !route.fullPath.startsWith("/operator")) {
          // A file that fails to load here is requested again when its page opens. That page then shows the error.
          await Promise.resolve(router.loadRouteChunk(route)).catch(() => undefined);
        }
        await idle();
      }
    };
    const timer = setTimeout(() => void all(), AFTER_MS);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [router, operator]);
}

/** Resolves when the browser is idle, or after a short delay in browsers without `requestIdleCallback`. */
const idle = (): Promise<void> =>
  new Promise((resolve) => {
    if ("requestIdleCallback" in window) requestIdleCallback(() => resolve(), { timeout: 1_000 });
    else setTimeout(resolve, 50);
  });
