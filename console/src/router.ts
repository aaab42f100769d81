/**
 * The route tree. Each part of the console declares its routes in its own file, and a page's code is loaded when the
 * page opens.
 */
import { createRouter } from "@tanstack/react-router";
import { reach } from "./api/gateway.ts";
import { onForbidden, onSignedOut, queryClient, readEverythingAgain } from "./data/query-client.ts";
import { forgetAll, isLeaving, leave, readRightsAgain } from "./data/session.ts";
import {
  accountsRoute,
  appRoute,
  homeRoute,
  notificationsRoute,
  oldAccountsRoute,
  settingsRoute,
} from "./routes/app.tsx";
import { authRoute, authRoutes } from "./routes/auth.tsx";
import { builderRoutes } from "./routes/builder.tsx";
import { hostRoutes } from "./routes/host.tsx";
import { operatorRoutes } from "./routes/operator.tsx";
import { BrokenPart, rootRoute } from "./routes/root.tsx";
import { toast } from "./ui/toast.tsx";

const routeTree = rootRoute.addChildren([
  homeRoute,
  authRoute.addChildren(authRoutes),
  appRoute.addChildren([
    accountsRoute,
    oldAccountsRoute,
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
  defaultErrorComponent: BrokenPart,
});

onSignedOut(() => {
  if (isLeaving()) return;
  const {
    location: { pathname, searchStr },
    matches,
  } = router.state;
  // On the sign-in pages, the form shows the error itself, so the page stays.
  if (!matches.some(({ routeId }) => routeId === appRoute.id)) return;
  leave({ next: `${pathname}${searchStr}` });
});

/**
 * After a change of permissions, the route guards run again. They redirect the user to a page that is still allowed.
 */
onForbidden(async () => {
  const changed = await readRightsAgain();
  if (changed === undefined) return;
  const { text, lost } = changed;
  toast(text, lost ? "bad" : "good");
  await router.invalidate();
  if (lost) await forgetAll();
  else await queryClient.invalidateQueries({ queryKey: ["team"] });
});

let wasAway = false;
reach.subscribe(() => {
  const isAway = reach.current() !== undefined;
  const isBack = wasAway && !isAway;
  wasAway = isAway;
  // After an outage, visible data is refreshed, and a page that failed to open is retried.
  if (isBack) void readEverythingAgain().then(() => router.invalidate());
});
// When the browser is back online, the gateway is probed at once.
addEventListener("online", () => reach.current() !== undefined && void reach.tryNow());

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
