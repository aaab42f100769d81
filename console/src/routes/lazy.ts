/**
 * A page whose code is loaded when it is opened. Where a newer build has replaced it the router loads the document anew, once;
 * but not while the gateway is away: that would leave the browser's own error page in place of ours.
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
