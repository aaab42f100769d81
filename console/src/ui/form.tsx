/** A form that shows and announces errors: beside their field, or above the button if the API named no field. */

import type { ReactNode } from "react";
import { ApiFault, errorMessage } from "../api/api-fault.ts";
import { TriangleAlert } from "./icons.tsx";
import { joinClasses } from "./join-classes.ts";

interface FormProps {
  onSubmit: (fields: FormData) => void;
  /** The API's error for the last submission. */
  error?: unknown;
  /** The names of fields that show their own errors. */
  fields?: string[];
  className?: string;
  children: ReactNode;
}

export function Form({ onSubmit, error, fields = [], className, children }: FormProps) {
  const shownByField = error instanceof ApiFault && error.param !== undefined && fields.includes(error.param);
  return (
    <form
      className={joinClasses("flex flex-col gap-4", className)}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(new FormData(event.currentTarget));
      }}
    >
      {/* The element is always present, so that screen readers announce its content when it appears. */}
      <div role="alert" className={shownByField ? "sr-only" : "empty:hidden"}>
        {error !== undefined && error !== null && !shownByField && <FormProblem>{errorMessage(error)}</FormProblem>}
        {shownByField && errorMessage(error)}
      </div>
      {children}
    </form>
  );
}

export function FormProblem({ children }: { children: ReactNode }) {
  return (
    <p className="flex items-start gap-2 rounded-md bg-bad-soft px-3 py-2 text-bad">
      <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
      <span>{children}</span>
    </p>
  );
}

/** The text of a submitted field. */
export const readTextField = (fields: FormData, name: string): string => String(fields.get(name) ?? "");
