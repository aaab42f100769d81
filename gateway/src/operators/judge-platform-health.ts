/** Judges whether the platform is serving, degraded or down, and why. Pure; platform-health.ts reads the input. */
import type { Outage } from "../base/dependency.ts";
import type { PlatformState } from "../base/stored-enumerations.ts";
import type { Incident } from "../history/model-availability.ts";

/** `since`: when the cause began, in Unix milliseconds; null if unknown. */
export type PlatformHealthCause =
  | { code: "unreachable"; part: Outage["part"]; since: number }
  /** The catalogue has no active model. */
  | { code: "no_models"; models: string[]; since: null }
  /** `of`: the number of offered models. */
  | { code: "no_capacity"; models: string[]; of: number; since: number | null }
  | { code: "errors"; models: string[]; since: number | null };

interface Seen {
  outages: Outage[];
  /** The number of connected nodes for every active model, as seen by this gateway. */
  capacity: { model: string; nodes: number }[];
  /** Recently served models. Other models do not count as missing. */
  served: ReadonlySet<string>;
  /** Open incidents. */
  incidents: Pick<Incident, "model" | "kind" | "beganAt">[];
}

export interface PlatformHealth {
  state: PlatformState;
  /** The causes, most urgent first. */
  causes: PlatformHealthCause[];
}

export function judgePlatformHealth({ outages, capacity, served, incidents }: Seen): PlatformHealth {
  const needed = outages.filter(({ isNeeded }) => isNeeded);
  const empty = capacity.filter(({ nodes }) => nodes === 0).map(({ model }) => model);
  const isEmpty = empty.length === capacity.length;
  // If no model can be served, models that were never served count as missing too.
  const missing = isEmpty ? empty : empty.filter((model) => served.has(model));
  const failing = incidents
    .filter(({ kind, model }) => kind === "errors" && !missing.includes(model))
    .map(({ model }) => model);
  const since = (kind: Incident["kind"], models: string[]): number | null => {
    const began = incidents
      .filter((one) => one.kind === kind && models.includes(one.model))
      .map(({ beganAt }) => beganAt.getTime());
    return began.length === 0 ? null : Math.min(...began);
  };
  const offered = isEmpty ? capacity.length : capacity.filter((one) => one.nodes > 0 || served.has(one.model)).length;
  const causes: PlatformHealthCause[] = [
    ...needed.map(({ part, since: at }) => ({ code: "unreachable" as const, part, since: at })),
    ...(capacity.length === 0 ? [{ code: "no_models" as const, models: [], since: null }] : []),
    ...(missing.length === 0
      ? []
      : [{ code: "no_capacity" as const, models: missing, of: offered, since: since("unavailable", missing) }]),
    ...(failing.length === 0 ? [] : [{ code: "errors" as const, models: failing, since: since("errors", failing) }]),
  ];
  const state = needed.length > 0 || isEmpty ? "down" : causes.length > 0 ? "degraded" : "serving";
  return { state, causes };
}
