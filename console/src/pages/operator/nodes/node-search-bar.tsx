/** The node search: by part of a name, by a host's ID, and by state. */

import { useState } from "react";
import type { NodeSearch, NodeState } from "../../../api/answer-types.ts";
import { NODE_STATES } from "../../../nodes/node-state.tsx";
import { IconButton } from "../../../ui/button.tsx";
import { SelectField } from "../../../ui/form-fields.tsx";
import { X } from "../../../ui/icons.tsx";
import { SearchField } from "../../../ui/search-field.tsx";

interface Props {
  filter: NodeSearch;
  onChange: (filter: NodeSearch) => void;
  /** The name of the host whose nodes are shown, if known. */
  hostName: string | undefined;
}

export function NodeSearchBar({ filter, onChange, hostName }: Props) {
  const [text, setText] = useState(filter.q ?? "");
  const lookFor = (wanted: string): void => {
    const { q = "", ...others } = filter;
    if (wanted === q) return;
    const isHost = /^acc_[0-9a-z]{26}$/.test(wanted);
    if (isHost) setText("");
    onChange({ ...others, ...(isHost ? { host: wanted } : wanted !== "" && { q: wanted }) });
  };
  const changeState = (chosen: string): void => {
    const { state: _state, ...rest } = filter;
    onChange(chosen === "" ? rest : { ...rest, state: chosen as NodeState });
  };
  const allHosts = (): void => {
    const { host: _host, ...rest } = filter;
    onChange(rest);
  };
  return (
    <search className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-3 sm:px-5">
      <SearchField
        label="Search nodes"
        placeholder="Name, or a host's acc_…"
        text={text}
        onText={setText}
        onPause={lookFor}
      />
      <SelectField
        label="State"
        hideLabel
        value={filter.state ?? ""}
        options={[{ value: "", label: "All states" }, ...NODE_STATES.map((each) => ({ value: each, label: each }))]}
        onChange={({ target }) => changeState(target.value)}
      />
      {filter.host !== undefined && (
        <p className="flex min-w-0 basis-full items-center gap-1 text-ink-soft">
          <span className="truncate">
            Only nodes of <span className="font-medium text-ink">{hostName ?? filter.host}</span>
          </span>
          <IconButton label="Show nodes of all hosts" onClick={allHosts}>
            <X aria-hidden className="size-4" />
          </IconButton>
        </p>
      )}
    </search>
  );
}
