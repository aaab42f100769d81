/** The account search. An ID opens its account at once; other text is searched in names and email addresses. */
import { useState } from "react";
import type { AccountSearch } from "../../../api/answer-types.ts";
import { SearchField } from "../../../ui/search-field.tsx";
import { SegmentedChoice } from "../../../ui/segmented-choice.tsx";

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
  const lookFor = (wanted: string): void => {
    const { q = "", ...others } = filter;
    if (wanted === q) return;
    if (/^acc_[0-9a-z]{26}$/.test(wanted)) onOpen(wanted);
    else onChange({ ...others, ...(wanted !== "" && { q: wanted }) });
  };
  return (
    <search className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-3 sm:px-5">
      <SearchField
        label="Search accounts"
        placeholder="Name, owner's email or acc_…"
        text={text}
        onText={setText}
        onPause={lookFor}
      />
      <SegmentedChoice
        label="Account type"
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
