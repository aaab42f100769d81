/** Numbered steps. Finished ones have a tick. */

import type { ReactNode } from "react";
import { Check } from "./icons.tsx";
import { joinClasses } from "./join-classes.ts";

export const Steps = ({ children }: { children: ReactNode }) => <ol className="flex flex-col">{children}</ol>;

interface StepProps {
  number: number;
  title: string;
  done: boolean;
  /** Whether this is the next step to do. */
  current?: boolean;
  children: ReactNode;
}

export function Step({ number, title, done, current = false, children }: StepProps) {
  return (
    <li aria-current={current ? "step" : undefined} className="group flex gap-3 sm:gap-4">
      <div aria-hidden className="flex flex-col items-center">
        <span
          className={joinClasses(
            "flex size-7 shrink-0 items-center justify-center rounded-full border text-xs font-semibold",
            done
              ? "border-transparent bg-good-soft text-good"
              : current
                ? "border-accent bg-accent-soft text-accent"
                : "border-line bg-surface text-ink-soft",
          )}
        >
          {done ? <Check className="size-4" /> : number}
        </span>
        <span className="w-px flex-1 bg-line group-last:hidden" />
      </div>
      <div className="min-w-0 flex-1 pt-1 pb-7 group-last:pb-0">
        <h2 className="font-medium">
          <span className="sr-only">Step {number}: </span>
          {title}
          {done && <span className="sr-only"> (done)</span>}
        </h2>
        <div className="mt-2 flex flex-col gap-3">{children}</div>
      </div>
    </li>
  );
}
