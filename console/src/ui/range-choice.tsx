/** The choice of the page's time range. It is part of the URL, so that it survives back, reload and sharing. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { RANGE_TEXTS, type TimeRange } from "../time-range.ts";
import { SegmentedChoice } from "./segmented-choice.tsx";

/** The range in the URL if it is one of `choices`, otherwise `otherwise`. `setRange` changes the URL. */
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
  <SegmentedChoice
    label="Time range"
    value={range}
    options={choices.map((value) => ({ value, label: value, title: RANGE_TEXTS[value] }))}
    onChange={onChange}
  />
);
