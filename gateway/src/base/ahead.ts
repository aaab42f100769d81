/** Work that is done while something else is waited for. */
import type { Clock } from "./clock.ts";

/**
 * Does `make` once the event loop has passed on what was begun before this call. The returned function gives what came of it, throws
 * what it threw, and does it at once where it was not done yet.
 */
export function ahead<Made>(clock: Pick<Clock, "soon">, make: () => Made): () => Made {
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
