/** Buttons. A page has one primary action; all other buttons are plain. */

import type { ComponentProps, ReactNode } from "react";
import { LoaderCircle } from "./icons.tsx";
import { joinClasses } from "./join-classes.ts";

type ButtonLook = "primary" | "plain" | "quiet" | "danger";

const LOOKS: Record<ButtonLook, string> = {
  primary: "bg-accent text-accent-ink hover:bg-accent-strong border-transparent",
  plain: "bg-surface text-ink border-line hover:bg-sunken",
  quiet: "border-transparent text-ink-soft hover:text-ink hover:bg-sunken",
  danger: "border-bad/40 bg-surface text-bad hover:bg-bad-soft",
};

const SHAPE =
  "inline-flex items-center justify-center gap-2 rounded-md border font-medium whitespace-nowrap transition-colors disabled:opacity-55";

/** The classes for links that look like buttons: `<Link className={buttonClasses("plain")}>`. */
export const buttonClasses = (look: ButtonLook = "plain", size: "small" | "usual" = "usual"): string =>
  joinClasses(SHAPE, LOOKS[look], size === "small" ? "h-7 px-2.5 text-xs" : "h-9 px-3.5 text-sm");

interface ButtonProps extends ComponentProps<"button"> {
  look?: ButtonLook;
  size?: "small" | "usual";
  /** Whether the action is running. The button then shows it and ignores further clicks. */
  busy?: boolean;
}

export function Button({ look = "plain", size = "usual", busy = false, className, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      aria-busy={busy || undefined}
      disabled={rest.disabled === true || busy}
      className={joinClasses(buttonClasses(look, size), className)}
    >
      {busy && <LoaderCircle aria-hidden className="size-4 animate-spin" />}
      {children}
    </button>
  );
}

interface IconButtonProps extends ComponentProps<"button"> {
  /** The action in words, for users who do not see the icon. */
  label: string;
  children: ReactNode;
}

export function IconButton({ label, className, children, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      title={label}
      {...rest}
      aria-label={label}
      className={joinClasses(
        "inline-flex size-8 items-center justify-center rounded-md text-ink-soft transition-colors hover:bg-sunken hover:text-ink disabled:opacity-55",
        className,
      )}
    >
      {children}
    </button>
  );
}
