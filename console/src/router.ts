/** The route tree. Each part of the console has its routes in a file of its own; pages are loaded when they are opened. */
import { createRouter } from "@tanstack/react-router";
import { onSignedOut } from "./data/client.ts";
import { leave } from "./data/session.ts";
import { appRoute, homeRoute, openAccountRoute, settingsRoute } from "./routes/app.tsx";
import { authRoute, authRoutes } from "./routes/auth.tsx";
import { builderRoutes } from "./routes/builder.tsx";
import { hostRoutes } from "./routes/host.tsx";
import { operatorRoutes } from "./routes/operator.tsx";
import { rootRoute } from "./routes/root.tsx";

const routeTree = rootRoute.addChildren([
  homeRoute,
  authRoute.addChildren(authRoutes),
  appRoute.addChildren([openAccountRoute, settingsRoute, ...builderRoutes, ...hostRoutes, ...operatorRoutes]),
]);

export const router = createRouter({
  routeTree,
  basepath: "/console",
  defaultPreload: "intent",
  // What is fresh is the query cache's to say.
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
});

onSignedOut(() => {
  const { pathname, searchStr } = router.state.location;
  leave({ next: `${pathname}${searchStr}` });
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
