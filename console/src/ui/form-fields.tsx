/** Form fields: label, hint and error, connected for screen readers. */

import { type ComponentProps, type ReactNode, useId, useState } from "react";
import { ApiFault } from "../api/api-fault.ts";
import { Eye, EyeOff } from "./icons.tsx";
import { joinClasses } from "./join-classes.ts";

interface FieldProps {
  label: string;
  hint?: ReactNode;
  /** The error, shown instead of the hint. */
  error?: string | undefined;
  /** Shows the label only to screen readers. */
  hideLabel?: boolean;
  className?: string | undefined;
}

interface Ties {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": true | undefined;
}

function Field({
  label,
  hint,
  error,
  hideLabel,
  className,
  children,
}: FieldProps & { children: (ties: Ties) => ReactNode }) {
  const id = useId();
  const note = `${id}-note`;
  const hasNote = error !== undefined || hint !== undefined;
  return (
    <div className={joinClasses("flex flex-col gap-1.5", className)}>
      <label htmlFor={id} className={hideLabel === true ? "sr-only" : "font-medium"}>
        {label}
      </label>
      {children({
        id,
        "aria-describedby": hasNote ? note : undefined,
        "aria-invalid": error === undefined ? undefined : true,
      })}
      {hasNote && (
        <p id={note} className={joinClasses("text-xs", error === undefined ? "text-ink-soft" : "text-bad")}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}

export const INPUT_CLASSES =
  "h-9 w-full min-w-0 rounded-md border border-line-strong/60 bg-surface px-3 text-sm text-ink placeholder:text-ink-soft/80 aria-invalid:border-bad disabled:opacity-60";

type InputProps = FieldProps & Omit<ComponentProps<"input">, "className" | "id">;

export function TextField({ label, hint, error, hideLabel, className, ...input }: InputProps) {
  return (
    <Field {...{ label, error, className }} {...optional({ hint, hideLabel })}>
      {(ties) => <input type="text" {...input} {...ties} className={INPUT_CLASSES} />}
    </Field>
  );
}

/** An input for a day. Its label is visible beside it, because an empty date input shows only the date format. */
export function DateField({ label, className, ...input }: Omit<InputProps, "hint" | "error" | "hideLabel">) {
  const id = useId();
  return (
    <div className={joinClasses("flex min-w-0 items-center gap-2", className)}>
      <label htmlFor={id} className="text-xs text-ink-soft">
        {label}
      </label>
      <input type="date" {...input} id={id} className={INPUT_CLASSES} />
    </div>
  );
}

export function PasswordField({ label, hint, error, hideLabel, className, ...input }: InputProps) {
  const [shown, setShown] = useState(false);
  const Icon = shown ? EyeOff : Eye;
  return (
    <Field {...{ label, error, className }} {...optional({ hint, hideLabel })}>
      {(ties) => (
        <div className="relative">
          <input
            {...input}
            {...ties}
            type={shown ? "text" : "password"}
            className={joinClasses(INPUT_CLASSES, "pr-10")}
          />
          <button
            type="button"
            aria-pressed={shown}
            aria-label="Show password"
            onClick={() => setShown(!shown)}
            className="absolute inset-y-0 right-0 flex w-9 items-center justify-center rounded-r-md text-ink-soft hover:text-ink"
          >
            <Icon aria-hidden className="size-4" />
          </button>
        </div>
      )}
    </Field>
  );
}

/** The email address that a person signs in with. */
export const EmailField = ({ error }: { error: string | undefined }) => (
  <TextField label="Email" name="email" type="email" autoComplete="username" required error={error} />
);

const PASSWORD_CHARS_MIN = 8;

/** The input for a new password, with the rules for its length. */
export function NewPasswordField(props: InputProps) {
  const rules = { required: true, minLength: PASSWORD_CHARS_MIN, maxLength: 128 };
  return (
    <PasswordField
      {...props}
      {...rules}
      autoComplete="new-password"
      hint={`At least ${PASSWORD_CHARS_MIN} characters.`}
    />
  );
}

type SelectProps = FieldProps &
  Omit<ComponentProps<"select">, "className" | "id" | "children"> & { options: { value: string; label: string }[] };

/** The browser's own select element, which works with every keyboard, screen reader and phone. */
export function SelectField({ label, hint, error, hideLabel, className, options, ...select }: SelectProps) {
  return (
    <Field {...{ label, error, className }} {...optional({ hint, hideLabel })}>
      {(ties) => (
        <select {...select} {...ties} className={joinClasses(INPUT_CLASSES, "pr-8")}>
          {options.map(({ value, label: text }) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

type AreaProps = FieldProps & Omit<ComponentProps<"textarea">, "className" | "id">;

export function TextArea({ label, hint, error, hideLabel, className, ...area }: AreaProps) {
  return (
    <Field {...{ label, error, className }} {...optional({ hint, hideLabel })}>
      {(ties) => (
        <textarea rows={4} {...area} {...ties} className={joinClasses(INPUT_CLASSES, "h-auto py-2 leading-relaxed")} />
      )}
    </Field>
  );
}

export function CheckField({ label, ...input }: { label: ReactNode } & Omit<ComponentProps<"input">, "className">) {
  return (
    <label className="inline-flex items-center gap-2">
      <input type="checkbox" {...input} className="size-4 accent-accent" />
      {label}
    </label>
  );
}

/** The API's error for this field; undefined if there is none or it concerns another field. */
export function findFieldError(error: unknown, param: string): string | undefined {
  return error instanceof ApiFault && error.param === param ? error.message : undefined;
}

function optional<T extends object>(props: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(props).filter(([, value]) => value !== undefined)) as never;
}
