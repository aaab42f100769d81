/** The routes of the builders' pages. */
import { createRoute } from "@tanstack/react-router";
import { readPerformanceSearch } from "../pages/performance/performance-search.ts";
import { readRequestsSearch } from "../pages/requests/requests-search.ts";
import { appRoute, requireAccount } from "./app-routes.tsx";
import { lazyRouteComponent } from "./lazy-route-component.ts";

const forBuilders = { beforeLoad: () => requireAccount("builder") };

const overview = createRoute({
  getParentRoute: () => appRoute,
  path: "/overview",
  ...forBuilders,
  component: lazyRouteComponent(() => import("../pages/overview/overview-page.tsx"), "OverviewPage"),
});
const keys = createRoute({
  getParentRoute: () => appRoute,
  path: "/keys",
  ...forBuilders,
  validateSearch: ({ key }: Record<string, unknown>): { key?: string } => (typeof key === "string" ? { key } : {}),
  component: lazyRouteComponent(() => import("../pages/keys/keys-page.tsx"), "KeysPage"),
});
const requests = createRoute({
  getParentRoute: () => appRoute,
  path: "/requests",
  ...forBuilders,
  validateSearch: readRequestsSearch,
  component: lazyRouteComponent(() => import("../pages/requests/requests-page.tsx"), "RequestsPage"),
});
const performance = createRoute({
  getParentRoute: () => appRoute,
  path: "/performance",
  ...forBuilders,
  validateSearch: readPerformanceSearch,
  component: lazyRouteComponent(() => import("../pages/performance/performance-page.tsx"), "PerformancePage"),
});
const playground = createRoute({
  getParentRoute: () => appRoute,
  path: "/playground",
  ...forBuilders,
  validateSearch: ({ model }: Record<string, unknown>): { model?: string } =>
    typeof model === "string" ? { model } : {},
  component: lazyRouteComponent(() => import("../pages/playground/playground-page.tsx"), "PlaygroundPage"),
});
const models = createRoute({
  getParentRoute: () => appRoute,
  path: "/models",
  component: lazyRouteComponent(() => import("../pages/models/models-page.tsx"), "ModelsPage"),
});
const model = createRoute({
  getParentRoute: () => appRoute,
  path: "/models/$id",
  component: lazyRouteComponent(() => import("../pages/models/model-page.tsx"), "ModelPage"),
});
const credits = createRoute({
  getParentRoute: () => appRoute,
  path: "/credits",
  ...forBuilders,
  validateSearch: ({ purchase, checkout }: Record<string, unknown>): { purchase?: string; checkout?: string } => ({
    ...(typeof purchase === "string" && { purchase }),
    ...(typeof checkout === "string" && { checkout }),
  }),
  component: lazyRouteComponent(() => import("../pages/credits/credits-page.tsx"), "CreditsPage"),
});

const team = createRoute({
  getParentRoute: () => appRoute,
  path: "/team",
  ...forBuilders,
  component: lazyRouteComponent(() => import("../pages/team/team-page.tsx"), "BuilderTeamPage"),
});

export const builderRoutes = [overview, keys, requests, performance, playground, models, model, credits, team] as const;
