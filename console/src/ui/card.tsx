/** The building blocks of a page's layout: header, cards and single numbers. */
import type { ReactNode } from "react";
import { joinClasses } from "./join-classes.ts";

interface CardProps {
  /** The ID by which links refer to the card. */
  id?: string;
  title?: ReactNode;
  /** Content beside the title, such as a switch or a link. */
  aside?: ReactNode;
  className?: string;
  /** Omits the padding, for tables that fill the card. */
  flush?: boolean;
  children: ReactNode;
}

export function Card({ id, title, aside, className, flush = false, children }: CardProps) {
  return (
    <section id={id} className={joinClasses("min-w-0 scroll-mt-4 rounded-lg border border-line bg-surface", className)}>
      {(title !== undefined || aside !== undefined) && (
        <header
          className={joinClasses(
            "flex flex-wrap items-center justify-between gap-x-4 gap-y-2 px-4 pt-3.5 sm:px-5",
            flush && "pb-3",
          )}
        >
          <h2 className="text-sm font-semibold">{title}</h2>
          {aside}
        </header>
      )}
      {flush ? children : <div className="px-4 py-4 sm:px-5">{children}</div>}
    </section>
  );
}

interface PageHeaderProps {
  title: string;
  /** One sentence on the purpose of the page. */
  about?: ReactNode;
  actions?: ReactNode;
}

export function PageHeader({ title, about, actions }: PageHeaderProps) {
  return (
    <header
      className={joinClasses(
        "mb-5 flex flex-wrap justify-between gap-x-6 gap-y-3",
        about === undefined ? "items-start" : "items-end",
      )}
    >
      <title>{`${title} · Tollgate`}</title>
      <div className="min-w-0 wrap-anywhere">
        <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
        {about !== undefined && <p className="mt-1 max-w-prose text-ink-soft">{about}</p>}
      </div>
      {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </header>
  );
}

/** A number with its name. Several of them form a <Stats>. */
export function Stat({ label, children, note }: { label: ReactNode; children: ReactNode; note?: ReactNode }) {
  return (
    <div className="@container min-w-0 bg-surface px-4 py-4 sm:px-5">
      <dt className="text-ink-soft">{label}</dt>
      <dd className="mt-1.5 text-lg font-semibold tracking-tight wrap-anywhere lg:@[11rem]:text-xl xl:@[14rem]:text-2xl">
        {children}
      </dd>
      {note !== undefined && note !== false && <dd className="mt-1 text-xs text-ink-soft">{note}</dd>}
    </div>
  );
}

/** The layout of five stats: rows of three and two on small screens, so that amounts do not wrap. */
const FIVE =
  "lg:max-xl:has-[>:nth-child(5)]:grid-flow-row lg:max-xl:has-[>:nth-child(5)]:grid-cols-3 lg:max-xl:*:last:nth-[5]:col-span-2!";

export function StatGrid({ label, children }: { label: string; children: ReactNode }) {
  return (
    <dl
      aria-label={label}
      className={joinClasses(
        "grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line *:last:odd:col-span-2 lg:*:last:odd:col-span-1 lg:auto-cols-fr lg:grid-flow-col lg:grid-cols-none",
        FIVE,
      )}
    >
      {children}
    </dl>
  );
}
