/**
 * Derives incidents from what gateways observe. Pure. A problem becomes an incident after a minute, starting at its first observation,
 * and ends after two minutes without a problem, so that an intermittent fault is one incident. During an outage of the whole platform,
 * single models have no incidents.
 */
import type { IncidentCause, IncidentState } from "../../base/states.ts";
import type { Cause, PlatformVerdict } from "../verdict.ts";

/** What is shorter is not told. */
export const OPEN_AFTER_MS = 60_000;
/** What returns within this time is the same incident. */
export const CALM_MS = 120_000;

export interface Trouble {
  state: IncidentState;
  cause: IncidentCause;
  /** In Unix milliseconds. */
  sinceMs: number;
}

/** What is wrong with the platform as a whole, and with single models. `models` is undefined while nothing is known of them. */
interface Troubles {
  platform: Trouble | undefined;
  models: Map<string, Trouble> | undefined;
}

/** As several gateways see it: what only some of them cannot do is degraded, and a model is missing where no one can serve it. */
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

/** An incident that has not ended. */
export interface Tracked {
  state: IncidentState;
  cause: IncidentCause;
  beganMs: number;
  /** When it was seen last. */
  lastMs: number;
  isOpen: boolean;
}

type Step = { kind: "none" } | { kind: "forget" } | { kind: "end"; atMs: number } | ({ kind: "track" } & Tracked);

/** What becomes of an incident with what is seen now. */
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

/** An incident is told as the worst that it was, with the cause of that; that nothing ran is said only where nothing else is known. */
export function worse(
  known: Pick<Tracked, "state" | "cause"> | undefined,
  { state, cause }: Pick<Tracked, "state" | "cause">,
): Pick<Tracked, "state" | "cause"> {
  if (known === undefined) return { state, cause };
  if (state === known.state) return { state, cause: known.cause === "stopped" ? cause : known.cause };
  return state === "down" ? { state, cause } : { state: known.state, cause: known.cause };
}
