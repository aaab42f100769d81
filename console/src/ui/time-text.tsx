/** Shows a time in the local time zone, with UTC on hover. */
import { useEffect, useMemo, useState } from "react";
import {
  asDate,
  formatDuration,
  formatLocalDay,
  formatLocalMoment,
  formatShortMoment,
  formatTimeSince,
  formatUtcMoment,
} from "../format-time.ts";
import { formatWholeNumber } from "../locale.ts";

const TICK_MS = 30_000;

interface TimeProps {
  /** Unix seconds. */
  at: number;
  /** `ago`: "3 minutes ago". `short`: only the time if it is today. `full`: day and time. `day`: only the day. */
  as?: "ago" | "short" | "full" | "day";
}

export function TimeText({ at, as = "short" }: TimeProps) {
  const now = useNow(as === "ago");
  const text =
    as === "ago"
      ? formatTimeSince(at, now)
      : as === "full"
        ? formatLocalMoment(at)
        : as === "day"
          ? formatLocalDay(at)
          : formatShortMoment(at, now);
  return (
    <time dateTime={asDate(at).toISOString()} title={`${formatLocalMoment(at)} · ${formatUtcMoment(at)}`}>
      {text}
    </time>
  );
}

export const DurationText = ({ ms }: { ms: number | null }) => <span>{ms === null ? "–" : formatDuration(ms)}</span>;

export const CountText = ({ of }: { of: number }) => <span>{formatWholeNumber(of)}</span>;
export const formatCount = formatWholeNumber;

function useNow(ticking: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!ticking) return;
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [ticking]);
  return now;
}

/** The start of the current five minutes, hour or UTC day, for queries that may change only then. */
export const useFiveMinuteStart = (): Date => useFloor(300_000);
export const useHourStart = (): Date => useFloor(3_600_000);
export const useUtcDayStart = (): Date => useFloor(86_400_000);

function useFloor(unitMs: number): Date {
  const floor = Math.floor(useNow(true) / unitMs) * unitMs;
  return useMemo(() => new Date(floor), [floor]);
}
