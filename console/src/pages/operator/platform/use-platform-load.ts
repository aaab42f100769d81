/** A hook with the platform's current load, from the operators' event stream. */
import { useEffect, useRef, useState } from "react";
import type { PlatformLoad } from "../../../api/answer-types.ts";
import type { ServerEvent } from "../../../api/event-stream.ts";
import { useEventStream } from "../../../data/live-event-stream.ts";
import { addSample, LOAD_SAMPLE_INTERVAL_MS, type LoadSample } from "./load-history.ts";

export interface PlatformLoadState {
  /** Undefined until the first event. */
  now: PlatformLoad | undefined;
  /** Whether the stream is open. */
  live: boolean;
  samples: LoadSample[];
}

export function usePlatformLoad(): PlatformLoadState {
  const [now, setNow] = useState<PlatformLoad>();
  const [samples, setSamples] = useState<LoadSample[]>([]);
  const latest = useRef<PlatformLoad>(undefined);
  const live = useEventStream("/console/api/operator/live", ({ event, data }: ServerEvent) => {
    if (event !== "load") return;
    latest.current = JSON.parse(data) as PlatformLoad;
    setNow(latest.current);
  });
  useEffect(() => {
    if (!live) return;
    const timer = setInterval(() => {
      const load = latest.current;
      if (load !== undefined) setSamples((all) => addSample(all, load, Date.now()));
    }, LOAD_SAMPLE_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [live]);
  return { now, live, samples };
}
