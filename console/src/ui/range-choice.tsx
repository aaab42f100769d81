/** The time range that a page shows. It is part of the address, so that going back, reloading and sharing keep it. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { RANGE_WORDS, type TimeRange } from "../time-range.ts";
import { Segmented } from "./segmented.tsx";

/** The range in the address if it is allowed, or `otherwise`; `setRange` changes the address. */
export function useRange<Of extends TimeRange>(choices: readonly Of[], otherwise: Of): [Of, (range: Of) => void] {
  const { range } = useSearch({ strict: false });
  const navigate = useNavigate();
  const setRange = useCallback(
    (next: Of): void =>
      void navigate({ to: ".", search: (search) => ({ ...search, range: next }), resetScroll: false }),
    [navigate],
  );
  return [choices.find((choice) => choice === range) ?? otherwise, setRange];
}

interface Props<Of extends TimeRange> {
  range: Of;
  choices: readonly Of[];
  onChange: (range: Of) => void;
}

export const RangeChoice = <Of extends TimeRange>({ range, choices, onChange }: Props<Of>) => (
  <Segmented
    label="Time range"
    value={range}
    options={choices.map((value) => ({ value, label: value, title: RANGE_WORDS[value] }))}
    onChange={onChange}
  />
);
