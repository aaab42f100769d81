/**
 * How much a node may say, whatever plane carries it: so many states, so many frames that are malformed, so much about
 * nothing (jobs that are not its own, signs of life, kinds we do not know). Output of jobs it runs is bounded by their caps
 * and not counted here. Who passes a bound is cut off, and nothing more of it is looked at until the plane has dropped it:
 * the look at this table comes before any frame is decoded.
 */
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { type SparingLog, sparingLog } from "../base/sparing-log.ts";
import type { Plane } from "../plane/plane.ts";
import type { ProcessPauses } from "./process-pauses.ts";

interface Rate {
  perSecond: number;
  /** What may come at once after a quiet time. */
  burst: number;
}

type FrameKind = "states" | "malformed" | "idle";

export const FRAME_RATES: Record<FrameKind, Rate> = {
  states: { perSecond: 20, burst: 200 },
  /** An honest agent sends none; one with a bug that fails some of its jobs should not take down its node's whole line. */
  malformed: { perSecond: 5, burst: 100 },
  /** Counted by `idleCost`. What was in flight when a job was cancelled is such, so it must be ample. */
  idle: { perSecond: 2_000, burst: 10_000 },
};

/** What a frame costs to decode: by itself, by its bytes and by the deltas in it. A unit is some ten microseconds. */
const IDLE_UNIT_BYTES = 4096;
const IDLE_UNIT_DELTAS = 16;
export const idleCost = (bytes: number, deltas: number): number =>
  1 + bytes / IDLE_UNIT_BYTES + deltas / IDLE_UNIT_DELTAS;

/** A plane that was told to cut a node and still brings its frames is told again after this long. */
const CUT_AGAIN_MS = 5_000;
/** By then every allowance is full again, and there is nothing to remember. */
const FORGET_AFTER_MS = 120_000;

interface Allowance {
  /** What is left of each allowance. */
  left: Record<FrameKind, number>;
  at: number;
  /** Until when it is not listened to. */
  ignoredUntil: number;
}

interface FrameRatesOptions {
  plane: Pick<Plane, "cut">;
  processPauses: Pick<ProcessPauses, "stoppedMs">;
  clock: Clock;
  log: Log;
}

export class FrameRates {
  readonly #options: FrameRatesOptions;
  readonly #log: SparingLog;
  readonly #nodes = new Map<string, Allowance>();
  #forgetAt = 0;

  constructor(options: FrameRatesOptions) {
    this.#options = options;
    this.#log = sparingLog(options.log, options.clock);
  }

  /** Whether the node is listened to at all. */
  listensTo(nodeId: string): boolean {
    const allowance = this.#nodes.get(nodeId);
    return allowance === undefined || allowance.ignoredUntil <= this.#options.clock.monotonic();
  }

  /** Counts a frame of the node; false when that was too much, and the node is cut off. */
  count(nodeId: string, kind: FrameKind, cost = 1): boolean {
    const now = this.#options.clock.monotonic();
    const allowance = this.#allowance(nodeId, now);
    if (allowance.ignoredUntil > now) return false;
    allowance.left[kind] -= cost;
    if (allowance.left[kind] >= 0) return true;
    allowance.left[kind] = 0;
    allowance.ignoredUntil = now + CUT_AGAIN_MS;
    this.#log.warn(nodeId, { node: nodeId, what: kind }, "node exceeded its frame rate; disconnecting it");
    this.#options.plane.cut(nodeId).catch((error) => {
      this.#log.error(nodeId, { node: nodeId, err: error }, "could not disconnect a node");
    });
    return false;
  }

  /** Its connections are gone: what comes from now on comes from a new one. */
  gone(nodeId: string): void {
    const allowance = this.#nodes.get(nodeId);
    if (allowance !== undefined) allowance.ignoredUntil = 0;
  }

  #allowance(nodeId: string, now: number): Allowance {
    const known = this.#nodes.get(nodeId);
    if (known === undefined) {
      this.#forget(now);
      const left = Object.fromEntries(Object.entries(FRAME_RATES).map(([kind, { burst }]) => [kind, burst]));
      const allowance: Allowance = { left: left as Allowance["left"], at: now, ignoredUntil: 0 };
      this.#nodes.set(nodeId, allowance);
      return allowance;
    }
    const seconds = (now - known.at) / 1000;
    // What was said while no one listened comes at once, and each second of it had its own allowance.
    const unheardS = this.#options.processPauses.stoppedMs / 1000;
    for (const [kind, { perSecond, burst }] of Object.entries(FRAME_RATES) as [FrameKind, Rate][]) {
      known.left[kind] = Math.min(burst + unheardS * perSecond, known.left[kind] + seconds * perSecond);
    }
    known.at = now;
    return known;
  }

  #forget(now: number): void {
    if (now < this.#forgetAt) return;
    this.#forgetAt = now + FORGET_AFTER_MS;
    for (const [nodeId, { at }] of this.#nodes) if (now - at >= FORGET_AFTER_MS) this.#nodes.delete(nodeId);
  }
}
