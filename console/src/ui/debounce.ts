/** A hook that delays a typed value until the user pauses, so that not every key press sends a request. */
import { useEffect, useState } from "react";

const PAUSE_MS = 300;

export function useDebounced(text: string): string {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return paused;
}
