/** The root of all pages: what is shown when there is no such page, or when one breaks. */
import { createRootRoute, type ErrorComponentProps, Link, Outlet } from "@tanstack/react-router";
import { buttonClasses } from "../ui/button.tsx";
import { Empty, Refused } from "../ui/states.tsx";
import { Toasts } from "../ui/toast.tsx";

export const rootRoute = createRootRoute({
  component: Root,
  notFoundComponent: NoSuchPage,
  errorComponent: BrokenPage,
});

function Root() {
  return (
    <>
      <Outlet />
      <Toasts />
    </>
  );
}

function NoSuchPage() {
  return (
    <main className="mx-auto max-w-lg pt-[15vh]">
      <title>No such page · Tollgate</title>
      <Empty
        title="There is no such page"
        action={
          <Link to="/" className={buttonClasses("plain")}>
            Back to the console
          </Link>
        }
      >
        The address may be old, or mistyped.
      </Empty>
    </main>
  );
}

export function BrokenPage({ error, reset }: ErrorComponentProps) {
  return (
    <main className="mx-auto max-w-lg pt-[15vh]">
      <title>Something went wrong · Tollgate</title>
      <Refused error={error} again={reset} />
    </main>
  );
}
