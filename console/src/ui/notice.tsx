/** A colored box with important information and an action. */

import type { ReactNode } from "react";
import { CircleAlert, CircleCheck, Info, TriangleAlert } from "./icons.tsx";
import { joinClasses } from "./join-classes.ts";

type NoticeTone = "good" | "warn" | "bad" | "neutral";

const LOOKS = {
  good: { look: "bg-good-soft text-good", icon: CircleCheck },
  warn: { look: "bg-warn-soft text-warn", icon: TriangleAlert },
  bad: { look: "bg-bad-soft text-bad", icon: CircleAlert },
  neutral: { look: "bg-surface text-ink", icon: Info },
} as const;

interface NoticeProps {
  tone: NoticeTone;
  title: ReactNode;
  children?: ReactNode;
  action?: ReactNode;
}

export function Notice({ tone, title, children, action }: NoticeProps) {
  const { look, icon: Icon } = LOOKS[tone];
  return (
    <div
      className={joinClasses(
        "flex flex-wrap items-start gap-x-4 gap-y-3 rounded-lg border border-line px-4 py-3.5 sm:px-5",
        look,
      )}
    >
      <Icon aria-hidden className="mt-0.5 size-5 shrink-0" />
      <div className="min-w-0 flex-1 basis-56">
        <p className="font-medium">{title}</p>
        {children !== undefined && <div className="mt-1 text-ink">{children}</div>}
      </div>
      {action}
    </div>
  );
}
