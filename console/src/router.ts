/** The route tree. Each part of the console has its routes in its own file; pages are loaded when they open. */
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
  // The query cache decides what is fresh.
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
  // An error in a page leaves the layout around it in place.
  defaultErrorComponent: BrokenPart,
});

onSignedOut(() => {
  if (isLeaving()) return;
  const {
    location: { pathname, searchStr },
    matches,
  } = router.state;
  // On the sign-in pages, the form shows the error itself.
  if (!matches.some(({ routeId }) => routeId === appRoute.id)) return;
  leave({ next: `${pathname}${searchStr}` });
});

/**
 * After a change of permissions the route guards run again: the user gets a page that is still allowed, and the rest is
 * removed.
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
  // After an outage, visible data is read again, and a page that could not be opened is retried.
  if (isBack) void readEverythingAgain().then(() => router.invalidate());
});
// The browser is online again.
addEventListener("online", () => reach.current() !== undefined && void reach.tryNow());

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
