/** Runs work early, while the caller waits for something else. */
import type { Clock } from "./clock.ts";

/**
 * Runs `make` after the event loop has sent what was started before this call. The returned function returns its result or throws its
 * error, and runs it immediately if it has not run yet.
 */
export function startEarly<Made>(clock: Pick<Clock, "soon">, make: () => Made): () => Made {
  let outcome: { made: Made } | { error: unknown } | undefined;
  const attempt = (): { made: Made } | { error: unknown } => {
    try {
      return { made: make() };
    } catch (error) {
      return { error };
    }
  };
  clock.soon(() => {
    outcome ??= attempt();
  });
  return () => {
    outcome ??= attempt();
    if ("error" in outcome) throw outcome.error;
    return outcome.made;
  };
}
