/** The route tree. Each part of the console has its routes in a file of its own; pages are loaded when they are opened. */
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
  // What is fresh is the query cache's to say.
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
  // A page that breaks leaves the frame around it standing.
  defaultErrorComponent: BrokenPart,
});

onSignedOut(() => {
  if (isLeaving()) return;
  const {
    location: { pathname, searchStr },
    matches,
  } = router.state;
  // Who is on the way in is told so by the form.
  if (!matches.some(({ routeId }) => routeId === appRoute.id)) return;
  leave({ next: `${pathname}${searchStr}` });
});

/** Where rights changed the door is asked again: it leads to what is left, and what was shown of the rest goes. */
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
  // A page that could not be opened is tried again, and what the others show is read again.
  if (isBack) void readEverythingAgain().then(() => router.invalidate());
});
// The browser has a network again.
addEventListener("online", () => reach.current() !== undefined && void reach.tryNow());

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
