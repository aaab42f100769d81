/**
 * The controls above the request list: filter, time span, order and saved views. Each change updates the URL at once.
 */
import type { ReactNode } from "react";
import type { RequestSort } from "../../api/answer-types.ts";
import { formatDayAndTime } from "../../locale.ts";
import { RANGE_TEXTS } from "../../time-range.ts";
import { Button } from "../../ui/button.tsx";
import { DateField, SelectField } from "../../ui/form-fields.tsx";
import { X } from "../../ui/icons.tsx";
import { SegmentedChoice } from "../../ui/segmented-choice.tsx";
import {
  isDay,
  isFiltered,
  limitViewToSpan,
  REQUEST_RANGES,
  type RequestsView,
  removeSpanFromView,
} from "./requests-search.ts";

interface Props {
  view: RequestsView;
  onChange: (view: RequestsView) => void;
  /** The input for filters. */
  field: ReactNode;
  /** The controls for columns, views and live updates. */
  children: ReactNode;
}

const SORTS: { value: RequestSort; label: string }[] = [
  { value: "newest", label: "Newest first" },
  { value: "oldest", label: "Oldest first" },
  { value: "cost", label: "Highest cost first" },
  { value: "tokens", label: "Most tokens first" },
  { value: "duration", label: "Longest first" },
];

export function RequestFilters({ view, onChange, field, children }: Props) {
  const custom = view.from !== undefined || view.to !== undefined;
  const setDay = (name: "from" | "to", day: string): void => {
    const { [name]: _before, range: _range, ...rest } = view;
    onChange(limitViewToSpan(day === "" ? rest : { ...rest, [name]: day }));
  };
  const setRange = (value: string): void => {
    const { from: _from, to: _to, range: _range, ...rest } = view;
    const range = REQUEST_RANGES.find((one) => one === value);
    onChange(range === undefined ? removeSpanFromView(view) : { ...rest, range });
  };
  const setSort = (value: string): void => {
    const { sort: _sort, ...rest } = view;
    const sort = SORTS.find((one) => one.value === value)?.value ?? "newest";
    onChange(sort === "newest" ? rest : limitViewToSpan({ ...rest, sort }));
  };
  return (
    <search className="flex flex-col gap-2 border-b border-line px-4 py-3 sm:px-5">
      <div className="flex flex-wrap items-start gap-2">
        {field}
        <SegmentedChoice
          label="Time range"
          value={custom ? "custom" : (view.range ?? "all")}
          options={[
            { value: "all", label: "All", title: "all time" },
            ...REQUEST_RANGES.map((value) => ({ value, label: value, title: RANGE_TEXTS[value] })),
            ...(custom ? [{ value: "custom", label: "Custom", title: "the days or times below" }] : []),
          ]}
          onChange={setRange}
        />
      </div>
      <div className="flex flex-wrap items-center gap-2">
        <SelectField
          label="Order"
          hideLabel
          className="w-40 max-sm:w-full"
          value={view.sort ?? "newest"}
          options={SORTS}
          onChange={({ target }) => setSort(target.value)}
        />
        <DayField label="From" value={view.from} max={view.to} onChange={(day) => setDay("from", day)} />
        <DayField label="To" value={view.to} min={view.from} onChange={(day) => setDay("to", day)} />
        {isFiltered(view) && (
          <Button
            look="quiet"
            onClick={() => onChange(view.sort === "oldest" || view.sort === "cost" ? { sort: view.sort } : {})}
          >
            <X aria-hidden className="size-4" />
            Clear
          </Button>
        )}
        <div className="ml-auto flex flex-wrap items-center gap-2">{children}</div>
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

/** A date input. An exact time, which the histogram sets, is shown as text instead. */
function DayField({ label, value = "", min, max, onChange }: DayProps) {
  if (value !== "" && !isDay(value)) {
    const at = Date.parse(value);
    return (
      <span className="inline-flex h-9 items-center gap-1 rounded-md bg-sunken pl-3 text-xs">
        <span className="text-ink-soft">{label}</span> {Number.isNaN(at) ? value : formatDayAndTime(at)}
        <button
          type="button"
          aria-label={`Remove ${label.toLowerCase()}`}
          className="flex size-8 items-center justify-center rounded-md hover:text-ink"
          onClick={() => onChange("")}
        >
          <X aria-hidden className="size-3.5" />
        </button>
      </span>
    );
  }
  return (
    <DateField
      label={label}
      className="w-44 max-sm:flex-1"
      value={value}
      {...(min !== undefined && isDay(min) && { min })}
      {...(max !== undefined && isDay(max) && { max })}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}
