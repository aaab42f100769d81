/**
 * Loads a page's code when the page opens. If a newer build has replaced the code, the router reloads the document
 * once. While the gateway is unreachable it does not, because the browser would show its own error page.
 */
import { lazyRouteComponent as lazily } from "@tanstack/react-router";
import { GatewayUnreachable, gatewayReachability, probeGateway } from "../api/gateway-requests.ts";

export const lazyRouteComponent: typeof lazily = (importer, exportName) =>
  lazily(
    () =>
      importer().catch(async (error: unknown) => {
        if (await probeGateway()) throw error;
        gatewayReachability.missed();
        throw new GatewayUnreachable("This page could not be loaded: the gateway did not respond.", {
          cause: error,
        });
      }),
    exportName,
  );
