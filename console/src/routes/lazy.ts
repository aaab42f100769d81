/**
 * Loads a page's code when it is opened. If a newer build has replaced it, the router reloads the document once; but not while the gateway
 * is unreachable, because that would show the browser's own error page.
 */
import { lazyRouteComponent as lazily } from "@tanstack/react-router";
import { gatewayAnswers, reach, Unreachable } from "../api/gateway.ts";

export const lazyRouteComponent: typeof lazily = (importer, exportName) =>
  lazily(
    () =>
      importer().catch(async (error: unknown) => {
        if (await gatewayAnswers()) throw error;
        reach.missed();
        throw new Unreachable("This page could not be loaded: the gateway did not respond.", {
          cause: error,
        });
      }),
    exportName,
  );
