/** The routes of the operators' pages. The API refuses other users; hiding the routes only spares them empty pages. */
import { createRoute, redirect } from "@tanstack/react-router";
import { queryClient } from "../data/query-client.ts";
import { meQuery } from "../data/signed-in-session.ts";
import { readAccountsSearch } from "../pages/operator/accounts/accounts-search.ts";
import { readAuditSearch } from "../pages/operator/audit/audit-search.ts";
import { readNodesSearch } from "../pages/operator/nodes/nodes-search.ts";
import { appRoute } from "./app-routes.tsx";
import { lazyRouteComponent } from "./lazy-route-component.ts";

async function requireOperator(): Promise<void> {
  const me = await queryClient.ensureQueryData(meQuery);
  if (me !== null && !me.identity.operator) throw redirect({ to: "/" });
}

const forOperators = { beforeLoad: requireOperator };

const platform = createRoute({
  getParentRoute: () => appRoute,
  path: "/operator",
  ...forOperators,
  component: lazyRouteComponent(() => import("../pages/operator/platform/platform-page.tsx"), "PlatformPage"),
});
const accounts = createRoute({
  getParentRoute: () => appRoute,
  path: "/operator/accounts",
  ...forOperators,
  validateSearch: readAccountsSearch,
  component: lazyRouteComponent(() => import("../pages/operator/accounts/accounts-page.tsx"), "AccountsPage"),
});
const account = createRoute({
  getParentRoute: () => appRoute,
  path: "/operator/accounts/$id",
  ...forOperators,
  component: lazyRouteComponent(() => import("../pages/operator/account/account-page.tsx"), "AccountPage"),
});
const nodes = createRoute({
  getParentRoute: () => appRoute,
  path: "/operator/nodes",
  ...forOperators,
  validateSearch: readNodesSearch,
  component: lazyRouteComponent(() => import("../pages/operator/nodes/all-nodes-page.tsx"), "AllNodesPage"),
});
const payouts = createRoute({
  getParentRoute: () => appRoute,
  path: "/operator/payouts",
  ...forOperators,
  validateSearch: ({ payout, node }: Record<string, unknown>): { payout?: string; node?: string } => ({
    ...(typeof payout === "string" && { payout }),
    ...(typeof node === "string" && { node }),
  }),
  component: lazyRouteComponent(() => import("../pages/operator/payouts/payouts-page.tsx"), "PayoutsPage"),
});
const requests = createRoute({
  getParentRoute: () => appRoute,
  path: "/operator/requests",
  ...forOperators,
  validateSearch: ({ request }: Record<string, unknown>): { request?: string } =>
    typeof request === "string" ? { request } : {},
  component: lazyRouteComponent(() => import("../pages/operator/requests/requests-page.tsx"), "PlatformRequestsPage"),
});
const ledger = createRoute({
  getParentRoute: () => appRoute,
  path: "/operator/ledger",
  ...forOperators,
  component: lazyRouteComponent(() => import("../pages/operator/ledger/ledger-page.tsx"), "LedgerPage"),
});
/** The page's former URL, so that bookmarks keep working. */
const oldLedger = createRoute({
  getParentRoute: () => appRoute,
  path: "/operator/books",
  beforeLoad: () => {
    throw redirect({ to: "/operator/ledger", replace: true });
  },
});
const audit = createRoute({
  getParentRoute: () => appRoute,
  path: "/operator/audit",
  ...forOperators,
  validateSearch: readAuditSearch,
  component: lazyRouteComponent(() => import("../pages/operator/audit/audit-page.tsx"), "AuditPage"),
});

export const operatorRoutes = [
  platform,
  requests,
  accounts,
  account,
  nodes,
  payouts,
  ledger,
  oldLedger,
  audit,
] as const;
