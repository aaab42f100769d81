/** Starts work early, while the caller waits for something else, such as a database query. */
import type { Clock } from "./clock.ts";

/**
 * Runs `make` after the event loop has sent everything that was started before this call. Returns a function that
 * returns the result of `make` or throws its error. If `make` has not run yet, that function runs it immediately.
 */
export function runBeforeNeeded<Made>(clock: Pick<Clock, "soon">, make: () => Made): () => Made {
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
