/** Fetches the code of the other pages while nothing else is to do, so that each opens at once, also while the gateway is away. */
import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import type { Me } from "../api/types.ts";

/** What the page itself needs comes first. */
const AFTER_MS = 2_000;

export function useFetchAhead({ identity: { operator } }: Me): void {
  const router = useRouter();
  useEffect(() => {
    let over = false;
    const all = async (): Promise<void> => {
      for (const route of Object.values(router.routesById)) {
        if (over) return;
        if (operator || !route.fullPath.startsWith("/operator")) {
          // What fails here is loaded when it is opened, where a fault is shown.
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

/** Not every browser says when it is idle. */
const idle = (): Promise<void> =>
  new Promise((resolve) => {
    if ("requestIdleCallback" in window) requestIdleCallback(() => resolve(), { timeout: 1_000 });
    else setTimeout(resolve, 50);
  });
