/**
 * Tracks since when dependencies are unreachable. It checks every second, because each dependency only provides its
 * current state.
 */
import type { Clock } from "../base/clock.ts";
import type { Dependency, Outage } from "../base/dependency.ts";

const LOOK_EVERY_MS = 1_000;

export interface Outages {
  now(): Outage[];
  stop(): void;
}

interface Watched {
  clock: Clock;
  dependencies: readonly { of: Dependency; isNeeded: boolean }[];
}

export function watchOutages({ clock, dependencies }: Watched): Outages {
  const since = new Map<Dependency, number>();
  const look = (): void => {
    for (const { of } of dependencies) {
      if (!of.isAway) since.delete(of);
      else if (!since.has(of)) since.set(of, clock.now());
    }
  };
  const stop = clock.every(LOOK_EVERY_MS, look);
  return {
    now() {
      look();
      return dependencies.flatMap(({ of, isNeeded }) => {
        const at = since.get(of);
        return at === undefined ? [] : [{ part: of.name, since: at, isNeeded }];
      });
    },
    stop,
  };
}
