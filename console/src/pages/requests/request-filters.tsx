/** The filters above the history. Each change goes into the address at once. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { RequestSort } from "../../api/types.ts";
import { keysQuery } from "../../data/keys.ts";
import { ratesQuery } from "../../data/models.ts";
import { OUTCOME_NAMES } from "../../requests/outcome.tsx";
import { RANGE_WORDS } from "../../time-range.ts";
import { Button } from "../../ui/button.tsx";
import { classes } from "../../ui/classes.ts";
import { SelectField, TextField } from "../../ui/field.tsx";
import { SlidersHorizontal, X } from "../../ui/icons.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { FindRequest } from "./find-request.tsx";
import { filterCount, localDay, REQUEST_RANGES, type RequestsView } from "./search.ts";

interface Props {
  filter: RequestsView;
  /** Those that there are. */
  labels: string[];
  onChange: (filter: RequestsView) => void;
  onFound: (request: string) => void;
}

type Choice = "model" | "key" | "outcome" | "label";

const SORTS: { value: RequestSort; label: string }[] = [
  { value: "newest", label: "Newest first" },
  { value: "oldest", label: "Oldest first" },
  { value: "cost", label: "Highest cost first" },
  { value: "duration", label: "Longest first" },
];
/** By cost and duration the API puts in order what lies within a month. */
const SORTED_RANGE = "30d";

/** The playground has a key for each session, which no list shows: they are one choice. */
const PLAYGROUND = { value: "playground", label: "Playground" };

export function RequestFilters({ filter, labels, onChange, onFound }: Props) {
  const { data: rates } = useQuery(ratesQuery);
  const { data: keys } = useQuery(keysQuery);
  const [unfolded, setUnfolded] = useState(false);
  const count = filterCount(filter);
  const custom = filter.from !== undefined || filter.to !== undefined;
  const set = (name: Choice, value: string): void => {
    const { [name]: _before, ...rest } = filter;
    onChange(value === "" ? rest : { ...rest, [name]: value });
  };
  const setDay = (name: "from" | "to", day: string): void => {
    const { [name]: _before, range: _range, ...rest } = filter;
    onChange(day === "" ? rest : { ...rest, [name]: day });
  };
  const setRange = (value: string): void => {
    const { from: _from, to: _to, range: _range, ...rest } = filter;
    const range = REQUEST_RANGES.find((one) => one === value);
    onChange(range === undefined ? rest : { ...rest, range });
  };
  const setSort = (value: string): void => {
    const { sort: _sort, ...rest } = filter;
    if (value === "oldest") onChange({ ...rest, sort: value });
    else if (value !== "cost" && value !== "duration") onChange(rest);
    else if (filter.from === undefined && filter.range === undefined) {
      const { to: _to, ...others } = rest;
      onChange({ ...others, sort: value, range: SORTED_RANGE });
    } else onChange({ ...rest, sort: value });
  };
  const choice = (name: Choice, label: string, all: string, values: { value: string; label: string }[]) => {
    const chosen = filter[name] ?? "";
    // What the address names is shown even while the list of choices is still on its way.
    const known = chosen === "" || values.some(({ value }) => value === chosen);
    return (
      <SelectField
        label={label}
        hideLabel
        value={chosen}
        options={[{ value: "", label: all }, ...(known ? [] : [{ value: chosen, label: chosen }]), ...values]}
        onChange={({ target }) => set(name, target.value)}
      />
    );
  };
  return (
    <search className="border-b border-line px-4 py-3 sm:px-5">
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <FindRequest onFound={onFound} />
        <Segmented
          label="Time range"
          value={custom ? "custom" : (filter.range ?? "all")}
          options={[
            { value: "all", label: "All", title: "all time" },
            ...REQUEST_RANGES.map((value) => ({ value, label: value, title: RANGE_WORDS[value] })),
            ...(custom ? [{ value: "custom", label: "Custom", title: "the days below" }] : []),
          ]}
          onChange={setRange}
        />
      </div>
      <Button
        look="plain"
        className="w-full md:hidden"
        aria-expanded={unfolded}
        aria-controls="request-filters"
        onClick={() => setUnfolded(!unfolded)}
      >
        <SlidersHorizontal aria-hidden className="size-4" />
        Filters{count > 0 && ` (${count})`}
      </Button>
      <div
        id="request-filters"
        className={classes("gap-2 max-md:mt-3 md:grid md:grid-cols-4", unfolded ? "grid" : "hidden")}
      >
        {choice(
          "model",
          "Model",
          "All models",
          (rates?.data ?? []).map(({ sku_id: value }) => ({ value, label: value })),
        )}
        {choice("key", "Key", "All keys", [
          ...(keys?.data ?? []).map(({ id, name }) => ({ value: id, label: name })),
          PLAYGROUND,
        ])}
        {choice(
          "outcome",
          "Outcome",
          "All outcomes",
          OUTCOME_NAMES.map((value) => ({ value, label: value })),
        )}
        {(labels.length > 0 || filter.label !== undefined) &&
          choice(
            "label",
            "Label",
            "All labels",
            labels.map((value) => ({ value, label: value })),
          )}
        <DayField label="From" value={filter.from} max={filter.to} onChange={(day) => setDay("from", day)} />
        <DayField label="To" value={filter.to} min={filter.from} onChange={(day) => setDay("to", day)} />
        <SelectField
          label="Order"
          hideLabel
          value={filter.sort ?? "newest"}
          options={SORTS}
          onChange={({ target }) => setSort(target.value)}
        />
        <Button
          look="quiet"
          disabled={count === 0}
          onClick={() => onChange(filter.sort === "oldest" ? { sort: filter.sort } : {})}
        >
          <X aria-hidden className="size-4" />
          Clear
        </Button>
      </div>
    </search>
  );
}

interface DayProps {
  label: string;
  value: string | undefined;
  min?: string | undefined;
  max?: string | undefined;
  onChange: (day: string) => void;
}

function DayField({ label, value = "", min, max, onChange }: DayProps) {
  return (
    <TextField
      label={label}
      hideLabel
      title={label}
      type="date"
      value={localDay(value) === undefined ? "" : value}
      {...(min !== undefined && { min })}
      {...(max !== undefined && { max })}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}
