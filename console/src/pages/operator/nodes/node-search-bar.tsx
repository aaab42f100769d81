/** The search of the nodes: a part of a name, or a host's id for the nodes of that host; and their state. */
import { Search, X } from "lucide-react";
import { useEffect, useEffectEvent, useState } from "react";
import type { NodeState } from "../../../api/host-types.ts";
import type { NodeSearch } from "../../../data/platform-nodes.ts";
import { IconButton } from "../../../ui/button.tsx";
import { classes } from "../../../ui/classes.ts";
import { INPUT, SelectField } from "../../../ui/field.tsx";
import { NODE_STATES } from "../../../ui/node-state.tsx";

const TYPING_MS = 250;

interface Props {
  filter: NodeSearch;
  onChange: (filter: NodeSearch) => void;
  /** The host whose nodes alone are shown, where its name is known. */
  hostName: string | undefined;
}

export function NodeSearchBar({ filter, onChange, hostName }: Props) {
  const [text, setText] = useState(filter.q ?? "");
  // With the filter as it is by then: the state may be chosen while somebody types.
  const lookFor = useEffectEvent((wanted: string): void => {
    const { q = "", ...others } = filter;
    if (wanted === q) return;
    const isHost = /^acc_[0-9a-z]{26}$/.test(wanted);
    if (isHost) setText("");
    onChange({ ...others, ...(isHost ? { host: wanted } : wanted !== "" && { q: wanted }) });
  });
  useEffect(() => {
    const timer = setTimeout(() => lookFor(text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
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
      <div className="relative min-w-0 flex-1 basis-56">
        <Search aria-hidden className="pointer-events-none absolute top-2.5 left-3 size-4 text-ink-soft" />
        <input
          type="search"
          aria-label="Search nodes"
          placeholder="Name, or a host's acc_…"
          value={text}
          maxLength={200}
          onChange={({ target }) => setText(target.value)}
          className={classes(INPUT, "pl-9")}
        />
      </div>
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
          <IconButton label="Nodes of every host" onClick={allHosts}>
            <X aria-hidden className="size-4" />
          </IconButton>
        </p>
      )}
    </search>
  );
}
