/** What somebody typed, once they pause: asked for then, and not at every key. */
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
