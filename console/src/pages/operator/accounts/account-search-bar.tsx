/** The search of the accounts. An id opens its account at once; anything else is looked for in names and addresses. */
import { Search } from "lucide-react";
import { useEffect, useEffectEvent, useState } from "react";
import type { AccountSearch } from "../../../data/platform-accounts.ts";
import { classes } from "../../../ui/classes.ts";
import { INPUT } from "../../../ui/field.tsx";
import { Segmented } from "../../../ui/segmented.tsx";

const TYPING_MS = 250;
const KINDS = [
  { value: "all", label: "All" },
  { value: "builder", label: "Builders" },
  { value: "host", label: "Hosts" },
] as const;

interface Props {
  filter: AccountSearch;
  onChange: (filter: AccountSearch) => void;
  onOpen: (accountId: string) => void;
}

export function AccountSearchBar({ filter, onChange, onOpen }: Props) {
  const [text, setText] = useState(filter.q ?? "");
  // With the filter as it is by then: the kind may be chosen while somebody types.
  const lookFor = useEffectEvent((wanted: string): void => {
    const { q = "", ...others } = filter;
    if (wanted === q) return;
    if (/^acc_[0-9a-z]{26}$/.test(wanted)) onOpen(wanted);
    else onChange({ ...others, ...(wanted !== "" && { q: wanted }) });
  });
  useEffect(() => {
    const timer = setTimeout(() => lookFor(text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <search className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-3 sm:px-5">
      <div className="relative min-w-0 flex-1 basis-56">
        <Search aria-hidden className="pointer-events-none absolute top-2.5 left-3 size-4 text-ink-soft" />
        <input
          type="search"
          aria-label="Search accounts"
          placeholder="Name, owner's address or acc_…"
          value={text}
          maxLength={200}
          onChange={({ target }) => setText(target.value)}
          className={classes(INPUT, "pl-9")}
        />
      </div>
      <Segmented
        label="Kind of account"
        value={filter.kind ?? "all"}
        options={[...KINDS]}
        onChange={(kind) => {
          const { kind: _kind, ...rest } = filter;
          onChange(kind === "all" ? rest : { ...rest, kind });
        }}
      />
    </search>
  );
}
