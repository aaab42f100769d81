/**
 * Derives incidents from what gateways observe. Pure. A problem becomes an incident after a minute, starting at its first observation,
 * and ends after two minutes without a problem, so that an intermittent fault is one incident. During an outage of the whole platform,
 * single models have no incidents.
 */
import type { IncidentCause, IncidentState } from "../../base/states.ts";
import type { Cause, PlatformVerdict } from "../verdict.ts";

/** Shorter problems are no incidents. */
export const OPEN_AFTER_MS = 60_000;
/** A problem that returns within this time continues the incident. */
export const CALM_MS = 120_000;

export interface Trouble {
  state: IncidentState;
  cause: IncidentCause;
  /** In Unix milliseconds. */
  sinceMs: number;
}

/** Problems of the platform and of single models. `models` is undefined when not known. */
interface Troubles {
  platform: Trouble | undefined;
  models: Map<string, Trouble> | undefined;
}

/** Combines several gateways' views: a problem that only some have is a degradation, and a model is missing if no gateway can serve it. */
export function troublesOf(verdicts: PlatformVerdict[], nowMs: number): Troubles {
  const down = verdicts.filter(({ state }) => state === "down");
  const [worst] = down.flatMap(({ causes }) => causes);
  const platform = worst && {
    state: down.length === verdicts.length ? ("down" as const) : ("degraded" as const),
    cause: causeOf(worst),
    sinceMs: Math.min(nowMs, ...down.flatMap(({ causes: [cause] }) => cause?.since ?? nowMs)),
  };
  const others = verdicts.filter(({ state }) => state !== "down");
  return { platform, models: others.length === 0 ? undefined : modelTroubles(others, nowMs) };
}

function modelTroubles(verdicts: PlatformVerdict[], nowMs: number): Map<string, Trouble> {
  const [first = [], ...others] = verdicts.map(({ causes }) =>
    causes.flatMap((cause) =>
      cause.code === "unreachable" ? [] : cause.models.map((model) => ({ model, trouble: troubleOf(cause, nowMs) })),
    ),
  );
  const shared = first.filter(({ model }) => others.every((seen) => seen.some((one) => one.model === model)));
  return new Map(shared.map(({ model, trouble }) => [model, trouble]));
}

const troubleOf = (cause: Cause, nowMs: number): Trouble => ({
  state: cause.code === "errors" ? "degraded" : "down",
  cause: causeOf(cause),
  sinceMs: Math.min(nowMs, cause.since ?? nowMs),
});

const causeOf = (cause: Cause): IncidentCause => (cause.code === "unreachable" ? cause.part : cause.code);

/** An open incident. */
export interface Tracked {
  state: IncidentState;
  cause: IncidentCause;
  beganMs: number;
  /** When it was seen last. */
  lastMs: number;
  isOpen: boolean;
}

type Step = { kind: "none" } | { kind: "forget" } | { kind: "end"; atMs: number } | ({ kind: "track" } & Tracked);

/** The next state of an incident, given the current problems. */
export function nextStep(known: Tracked | undefined, seen: Trouble | undefined, nowMs: number): Step {
  if (seen !== undefined) return { kind: "track", ...tracked(known, seen, nowMs) };
  if (known === undefined || nowMs - known.lastMs < CALM_MS) return { kind: "none" };
  return known.isOpen ? { kind: "end", atMs: known.lastMs } : { kind: "forget" };
}

function tracked(known: Tracked | undefined, seen: Trouble, nowMs: number): Tracked {
  const beganMs = Math.min(known?.beganMs ?? seen.sinceMs, seen.sinceMs);
  const lastMs = Math.max(nowMs, known?.lastMs ?? nowMs);
  const isOpen = known?.isOpen === true || lastMs - beganMs >= OPEN_AFTER_MS;
  return { ...worse(known, seen), beganMs, lastMs, isOpen };
}

/** An incident keeps its worst state with the cause of that. "No gateway ran" is its cause only without another. */
export function worse(
  known: Pick<Tracked, "state" | "cause"> | undefined,
  { state, cause }: Pick<Tracked, "state" | "cause">,
): Pick<Tracked, "state" | "cause"> {
  if (known === undefined) return { state, cause };
  if (state === known.state) return { state, cause: known.cause === "stopped" ? cause : known.cause };
  return state === "down" ? { state, cause } : { state: known.state, cause: known.cause };
}
