/**
 * Derives incidents from what gateways observe. Pure. A problem becomes an incident after a minute, dated from its
 * first observation. It ends after two minutes without the problem, so that an intermittent fault is one incident.
 * During an outage of the whole platform, single models have no incidents.
 */
import type { IncidentCause, IncidentState } from "../../base/stored-enumerations.ts";
import type { PlatformHealth, PlatformHealthCause } from "../judge-platform-health.ts";

/** A problem becomes an incident after this time. */
export const INCIDENT_OPENS_AFTER_MS = 60_000;
/** An incident ends after this time without the problem. If the problem returns earlier, the incident continues. */
export const INCIDENT_ENDS_AFTER_CALM_MS = 120_000;

export interface Problem {
  state: IncidentState;
  cause: IncidentCause;
  /** The start of the problem, in Unix milliseconds. */
  sinceMs: number;
}

/** The current problems of the platform and of single models. `models` is undefined if unknown. */
interface Troubles {
  platform: Problem | undefined;
  models: Map<string, Problem> | undefined;
}

/**
 * Combines several gateways' observations. A problem that only some gateways have is a degradation. A model is missing
 * only if no gateway can serve it.
 */
export function combineHealthReports(verdicts: PlatformHealth[], nowMs: number): Troubles {
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

function modelTroubles(verdicts: PlatformHealth[], nowMs: number): Map<string, Problem> {
  const [first = [], ...others] = verdicts.map(({ causes }) =>
    causes.flatMap((cause) =>
      cause.code === "unreachable" ? [] : cause.models.map((model) => ({ model, trouble: troubleOf(cause, nowMs) })),
    ),
  );
  const shared = first.filter(({ model }) => others.every((seen) => seen.some((one) => one.model === model)));
  return new Map(shared.map(({ model, trouble }) => [model, trouble]));
}

const troubleOf = (cause: PlatformHealthCause, nowMs: number): Problem => ({
  state: cause.code === "errors" ? "degraded" : "down",
  cause: causeOf(cause),
  sinceMs: Math.min(nowMs, cause.since ?? nowMs),
});

function causeOf(cause: PlatformHealthCause): IncidentCause {
  if (cause.code === "unreachable") return cause.part;
  return cause.code === "no_models" ? "no_capacity" : cause.code;
}

/** A problem that is being followed. It is an incident once `isOpen` is true. */
export interface TrackedProblem {
  state: IncidentState;
  cause: IncidentCause;
  beganMs: number;
  /** When the problem was last observed. */
  lastMs: number;
  isOpen: boolean;
}

type Step =
  | { kind: "none" }
  | { kind: "forget" }
  | { kind: "end"; atMs: number }
  | ({ kind: "track" } & TrackedProblem);

/** The next step for a followed problem, given the current observation. */
export function decideNextIncidentStep(
  known: TrackedProblem | undefined,
  seen: Problem | undefined,
  nowMs: number,
): Step {
  if (seen !== undefined) return { kind: "track", ...tracked(known, seen, nowMs) };
  if (known === undefined || nowMs - known.lastMs < INCIDENT_ENDS_AFTER_CALM_MS) return { kind: "none" };
  return known.isOpen ? { kind: "end", atMs: known.lastMs } : { kind: "forget" };
}

function tracked(known: TrackedProblem | undefined, seen: Problem, nowMs: number): TrackedProblem {
  const beganMs = Math.min(known?.beganMs ?? seen.sinceMs, seen.sinceMs);
  const lastMs = Math.max(nowMs, known?.lastMs ?? nowMs);
  const isOpen = known?.isOpen === true || lastMs - beganMs >= INCIDENT_OPENS_AFTER_MS;
  return { ...chooseWorseState(known, seen), beganMs, lastMs, isOpen };
}

/** Returns the worse state with its cause. The cause "stopped" (no gateway ran) is replaced by any other. */
export function chooseWorseState(
  known: Pick<TrackedProblem, "state" | "cause"> | undefined,
  { state, cause }: Pick<TrackedProblem, "state" | "cause">,
): Pick<TrackedProblem, "state" | "cause"> {
  if (known === undefined) return { state, cause };
  if (state === known.state) return { state, cause: known.cause === "stopped" ? cause : known.cause };
  return state === "down" ? { state, cause } : { state: known.state, cause: known.cause };
}
