/**
 * The route tree. Each part of the console declares its routes in its own file, and a page's code is loaded when the
 * page opens.
 */
import { createRouter } from "@tanstack/react-router";
import { gatewayReachability } from "./api/gateway-requests.ts";
import { queryClient, refetchEverything, setForbiddenHandler, setSignedOutHandler } from "./data/query-client.ts";
import { isSigningOut, refetchPermissions, reloadToSignIn, resetCache } from "./data/signed-in-session.ts";
import {
  accountsRedirectRoute,
  accountsRoute,
  appRoute,
  homeRoute,
  notificationsRoute,
  settingsRoute,
} from "./routes/app-routes.tsx";
import { builderRoutes } from "./routes/builder-routes.tsx";
import { hostRoutes } from "./routes/host-routes.tsx";
import { operatorRoutes } from "./routes/operator-routes.tsx";
import { LayoutErrorPage, rootRoute } from "./routes/root-route.tsx";
import { authRoute, authRoutes } from "./routes/sign-in-routes.tsx";
import { toast } from "./ui/toast.tsx";

const routeTree = rootRoute.addChildren([
  homeRoute,
  authRoute.addChildren(authRoutes),
  appRoute.addChildren([
    accountsRoute,
    accountsRedirectRoute,
    notificationsRoute,
    settingsRoute,
    ...builderRoutes,
    ...hostRoutes,
    ...operatorRoutes,
  ]),
]);

export const router = createRouter({
  routeTree,
  basepath: "/console",
  defaultPreload: "intent",
  // The router itself caches no data, because the query cache decides when data is fresh.
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
  // If a page fails, only the page is replaced by an error; the layout around it stays.
  defaultErrorComponent: LayoutErrorPage,
});

setSignedOutHandler(() => {
  if (isSigningOut()) return;
  const {
    location: { pathname, searchStr },
    matches,
  } = router.state;
  // On the sign-in pages, the form shows the error itself, so the page stays.
  if (!matches.some(({ routeId }) => routeId === appRoute.id)) return;
  reloadToSignIn({ next: `${pathname}${searchStr}` });
});

/**
 * After a change of permissions, the route guards run again. They redirect the user to a page that is still allowed.
 */
setForbiddenHandler(async () => {
  const changed = await refetchPermissions();
  if (changed === undefined) return;
  const { text, lost } = changed;
  toast(text, lost ? "bad" : "good");
  await router.invalidate();
  if (lost) await resetCache();
  else await queryClient.invalidateQueries({ queryKey: ["team"] });
});

let wasAway = false;
gatewayReachability.subscribe(() => {
  const isAway = gatewayReachability.current() !== undefined;
  const isBack = wasAway && !isAway;
  wasAway = isAway;
  // After an outage, visible data is refreshed, and a page that failed to open is retried.
  if (isBack) void refetchEverything().then(() => router.invalidate());
});
// When the browser is back online, the gateway is probed at once.
addEventListener("online", () => gatewayReachability.current() !== undefined && void gatewayReachability.tryNow());

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
