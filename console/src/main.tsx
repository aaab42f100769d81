/** The console's entry point in the browser. */
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "./data/query-client.ts";
import { BROWSER_LOCALE, setLocale } from "./locale.ts";
import { registerServiceWorker } from "./register-service-worker.ts";
import { router } from "./router.ts";
import "./styles.css";

// Loads the page's code while the session is still being requested.
for (const { routeId } of router.matchRoutes(router.latestLocation)) {
  void router.loadRouteChunk(router.routesById[routeId as keyof typeof router.routesById]);
}

registerServiceWorker();
setLocale(BROWSER_LOCALE);

const root = document.getElementById("root");
if (root === null) throw new Error("the page has no #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
