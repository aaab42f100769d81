/** The routes that require a session, and the check for it. */
import { createRoute, redirect } from "@tanstack/react-router";
import { findChosenAccount } from "../api/chosen-account.ts";
import { isAcceptingInvitation } from "../data/invitation-token.ts";
import { queryClient } from "../data/query-client.ts";
import { meQuery } from "../data/signed-in-session.ts";
import { AppShell } from "../layout/app-shell.tsx";
import { chooseHomePath } from "../layout/navigation.ts";
import { isTimeRange, type TimeRange } from "../time-range.ts";
import { lazyRouteComponent } from "./lazy-route-component.ts";
import { ErrorPage, rootRoute } from "./root-route.tsx";

/** The route `/console`, to which sign-in providers and checkouts return. */
export const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/",
  validateSearch: ({ sign_in, purchase, checkout }: Record<string, unknown>) => ({
    ...(typeof sign_in === "string" && { sign_in }),
    ...(typeof purchase === "string" && { purchase }),
    ...(typeof checkout === "string" && { checkout }),
  }),
  beforeLoad: async ({ search }) => {
    if (search.sign_in === "two_factor_required") throw redirect({ to: "/sign-in/code" });
    const me = await queryClient.ensureQueryData(meQuery);
    if (me === null) {
      throw redirect({ to: "/sign-in", search: search.sign_in === undefined ? {} : { sign_in: search.sign_in } });
    }
    // A user who signed in with a provider to accept an invitation continues with the invitation.
    if (isAcceptingInvitation()) throw redirect({ to: "/join" });
    if (search.purchase !== undefined) throw redirect({ to: "/credits", search });
    throw redirect({ to: chooseHomePath(me) });
  },
});

export const appRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "app",
  // The time range in the URL applies to every page that shows one (`useRange`).
  validateSearch: ({ range }: Record<string, unknown>): { range?: TimeRange } => (isTimeRange(range) ? { range } : {}),
  component: AppShell,
  errorComponent: ErrorPage,
  beforeLoad: async ({ location }) => {
    const me = await queryClient.ensureQueryData(meQuery);
    if (me === null) {
      throw redirect({ to: "/sign-in", search: { next: `${location.pathname}${location.searchStr}` } });
    }
  },
});

/** The guard for builder and host routes. A user without an account of that kind may create one instead. */
export async function requireAccount(kind: "builder" | "host"): Promise<void> {
  const me = await queryClient.ensureQueryData(meQuery);
  if (me === null || findChosenAccount(kind, me.accounts) !== undefined) return;
  throw redirect({ to: "/accounts", search: { kind } });
}

const readKind = ({ kind }: Record<string, unknown>): { kind?: "builder" | "host" } =>
  kind === "builder" || kind === "host" ? { kind } : {};

export const accountsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/accounts",
  validateSearch: readKind,
  component: lazyRouteComponent(() => import("../pages/accounts/accounts-page.tsx"), "AccountsPage"),
});

/** The page's former URL, so that bookmarks keep working. */
export const accountsRedirectRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/open-account",
  validateSearch: readKind,
  beforeLoad: ({ search }) => {
    throw redirect({ to: "/accounts", search, replace: true });
  },
});

export const notificationsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/notifications",
  validateSearch: ({ account }: Record<string, unknown>): { account?: "host" } =>
    account === "host" ? { account } : {},
  component: lazyRouteComponent(() => import("../pages/notifications/notifications-page.tsx"), "NotificationsPage"),
});

export const settingsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/settings",
  component: lazyRouteComponent(() => import("../pages/settings/settings-page.tsx"), "SettingsPage"),
});
