/** The root route, with the pages for unknown URLs and errors. */
import { createRootRoute, type ErrorComponentProps, Link, Outlet, useRouter } from "@tanstack/react-router";
import { GatewayBanner } from "../layout/gateway-banner.tsx";
import { buttonClasses } from "../ui/button.tsx";
import { EmptyState, LoadError } from "../ui/loading-states.tsx";
import { Toasts } from "../ui/toast.tsx";

export const rootRoute = createRootRoute({
  component: Root,
  notFoundComponent: PageNotFound,
  errorComponent: ErrorPage,
});

function Root() {
  return (
    <>
      <Outlet />
      <Toasts />
    </>
  );
}

function PageNotFound() {
  return (
    <main className="mx-auto max-w-lg pt-[15vh]">
      <title>Page not found · Tollgate</title>
      <h1 className="sr-only">Page not found</h1>
      <EmptyState
        title="Page not found"
        action={
          <Link to="/" className={buttonClasses("plain")}>
            Back to the console
          </Link>
        }
      >
        The address may be outdated or mistyped.
      </EmptyState>
    </main>
  );
}

export function ErrorPage(props: ErrorComponentProps) {
  return (
    <>
      <GatewayBanner />
      <main className="mx-auto max-w-lg pt-[15vh]">
        <LayoutErrorPage {...props} />
      </main>
    </>
  );
}

/** The error page within the layout. Its retry button reloads everything that the page needs. */
export function LayoutErrorPage({ error }: ErrorComponentProps) {
  const router = useRouter();
  return (
    <>
      <title>Something went wrong · Tollgate</title>
      <h1 className="sr-only">Something went wrong</h1>
      <LoadError error={error} again={() => void router.invalidate()} />
    </>
  );
}
