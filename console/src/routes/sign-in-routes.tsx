/** The routes for users without a session. */
import { createRoute, redirect } from "@tanstack/react-router";
import { queryClient } from "../data/query-client.ts";
import { meQuery } from "../data/signed-in-session.ts";
import { AuthLayout } from "../layout/auth-layout.tsx";
import { lazyRouteComponent } from "./lazy-route-component.ts";
import { rootRoute } from "./root-route.tsx";

export const authRoute = createRoute({ getParentRoute: () => rootRoute, id: "auth", component: AuthLayout });

interface SignInSearch {
  /** The page to open after the sign-in. */
  next?: string;
  /** The outcome of a sign-in at a provider. */
  sign_in?: string;
}

/** Accepts only paths of the console, so that a link cannot redirect to another site. */
function readNext(value: unknown): string | undefined {
  return typeof value === "string" && /^\/(?![/\\])/.test(value) ? value : undefined;
}

function readSearch(search: Record<string, unknown>): SignInSearch {
  const next = readNext(search.next);
  const { sign_in: outcome } = search;
  return { ...(next !== undefined && { next }), ...(typeof outcome === "string" && { sign_in: outcome }) };
}

/** Redirects a user who already has a session away from these pages. */
async function goOnIfSignedIn({ search }: { search: SignInSearch }): Promise<void> {
  const me = await queryClient.ensureQueryData(meQuery);
  if (me !== null) throw redirect({ to: search.next ?? "/" });
}

const signIn = createRoute({
  getParentRoute: () => authRoute,
  path: "/sign-in",
  validateSearch: readSearch,
  beforeLoad: goOnIfSignedIn,
  component: lazyRouteComponent(() => import("../pages/sign-in/sign-in-page.tsx"), "SignInPage"),
});
const code = createRoute({
  getParentRoute: () => authRoute,
  path: "/sign-in/code",
  validateSearch: readSearch,
  component: lazyRouteComponent(() => import("../pages/sign-in/second-factor-code-page.tsx"), "SecondFactorCodePage"),
});
const signUp = createRoute({
  getParentRoute: () => authRoute,
  path: "/sign-up",
  validateSearch: readSearch,
  beforeLoad: goOnIfSignedIn,
  component: lazyRouteComponent(() => import("../pages/sign-in/sign-up-page.tsx"), "SignUpPage"),
});
const forgot = createRoute({
  getParentRoute: () => authRoute,
  path: "/forgot-password",
  component: lazyRouteComponent(() => import("../pages/sign-in/forgot-password-page.tsx"), "ForgotPasswordPage"),
});
const reset = createRoute({
  getParentRoute: () => authRoute,
  path: "/reset-password",
  component: lazyRouteComponent(() => import("../pages/sign-in/reset-password-page.tsx"), "ResetPage"),
});
const verify = createRoute({
  getParentRoute: () => authRoute,
  path: "/verify-email",
  component: lazyRouteComponent(() => import("../pages/sign-in/verify-email-page.tsx"), "VerifyEmailPage"),
});

/** Open to users with and without a session. A user without one signs in first. */
const join = createRoute({
  getParentRoute: () => authRoute,
  path: "/join",
  component: lazyRouteComponent(() => import("../pages/join/join-page.tsx"), "JoinPage"),
});

/** A user without a session signs in first, and then returns to this page. */
const authorize = createRoute({
  getParentRoute: () => authRoute,
  path: "/authorize",
  validateSearch: ({ code: given }: Record<string, unknown>): { code?: string } =>
    typeof given === "string" && given !== "" ? { code: given } : {},
  beforeLoad: async ({ location }) => {
    const me = await queryClient.ensureQueryData(meQuery);
    if (me === null) throw redirect({ to: "/sign-in", search: { next: `${location.pathname}${location.searchStr}` } });
  },
  component: lazyRouteComponent(() => import("../pages/authorize/authorize-page.tsx"), "AuthorizePage"),
});

export const authRoutes = [signIn, code, signUp, forgot, reset, verify, join, authorize] as const;
