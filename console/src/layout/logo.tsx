/** The product's logo and name. */
export function Logo() {
  return (
    <span className="inline-flex items-center gap-2.5 font-semibold tracking-tight">
      <svg aria-hidden viewBox="0 0 32 32" className="size-6">
        <rect width="32" height="32" rx="8" className="fill-accent" />
        <path d="M8 10h16M16 10v13" className="stroke-accent-ink" strokeWidth="3.2" strokeLinecap="round" />
        <circle cx="16" cy="23" r="2.6" className="fill-accent-ink" />
      </svg>
      Tollgate
    </span>
  );
}
