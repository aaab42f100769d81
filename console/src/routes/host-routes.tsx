/** The routes of the hosts' pages. */
import { createRoute } from "@tanstack/react-router";
import { appRoute, requireAccount } from "./app-routes.tsx";
import { lazyRouteComponent } from "./lazy-route-component.ts";

const forHosts = { beforeLoad: () => requireAccount("host") };

const nodes = createRoute({
  getParentRoute: () => appRoute,
  path: "/host",
  ...forHosts,
  component: lazyRouteComponent(() => import("../pages/host/nodes/nodes-page.tsx"), "NodesPage"),
});
const add = createRoute({
  getParentRoute: () => appRoute,
  path: "/host/add",
  ...forHosts,
  component: lazyRouteComponent(() => import("../pages/host/add/add-node-page.tsx"), "AddNodePage"),
});
const node = createRoute({
  getParentRoute: () => appRoute,
  path: "/host/nodes/$id",
  ...forHosts,
  validateSearch: ({ model, outcome }: Record<string, unknown>): { model?: string; outcome?: string } => ({
    ...(typeof model === "string" && { model }),
    ...(typeof outcome === "string" && { outcome }),
  }),
  component: lazyRouteComponent(() => import("../pages/host/nodes/node-page.tsx"), "NodePage"),
});
const earnings = createRoute({
  getParentRoute: () => appRoute,
  path: "/host/earnings",
  ...forHosts,
  validateSearch: ({ node: id }: Record<string, unknown>): { node?: string } =>
    typeof id === "string" ? { node: id } : {},
  component: lazyRouteComponent(() => import("../pages/host/earnings/earnings-page.tsx"), "EarningsPage"),
});
const payouts = createRoute({
  getParentRoute: () => appRoute,
  path: "/host/payouts",
  ...forHosts,
  component: lazyRouteComponent(() => import("../pages/host/payouts/payouts-page.tsx"), "HostPayoutsPage"),
});
const market = createRoute({
  getParentRoute: () => appRoute,
  path: "/host/market",
  ...forHosts,
  validateSearch: ({ node: id }: Record<string, unknown>): { node?: string } =>
    typeof id === "string" ? { node: id } : {},
  component: lazyRouteComponent(() => import("../pages/host/market/market-page.tsx"), "MarketPage"),
});
const tokens = createRoute({
  getParentRoute: () => appRoute,
  path: "/host/tokens",
  ...forHosts,
  component: lazyRouteComponent(() => import("../pages/host/tokens/tokens-page.tsx"), "TokensPage"),
});

const team = createRoute({
  getParentRoute: () => appRoute,
  path: "/host/team",
  ...forHosts,
  component: lazyRouteComponent(() => import("../pages/team/team-page.tsx"), "HostTeamPage"),
});

export const hostRoutes = [nodes, add, node, earnings, payouts, market, tokens, team] as const;
