/**
 * Limits how much a node may send, on any kind of dispatch plane: state frames, malformed frames, and idle frames
 * (about jobs that it does not run, signs of life, unknown kinds). Output of its own jobs is limited elsewhere and not
 * counted. A node above a limit is disconnected, and its frames are ignored until the plane has dropped it. This check
 * runs before a frame is decoded.
 */
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { type RateLimitedLog, rateLimitedLog } from "../base/rate-limited-log.ts";
import type { DispatchPlane } from "../plane/plane.ts";
import type { ProcessPauses } from "./process-pauses.ts";

interface Rate {
  perSecond: number;
  /** How many frames a node may send at once after a pause. */
  burst: number;
}

type FrameKind = "states" | "malformed" | "idle";

export const FRAME_RATES: Record<FrameKind, Rate> = {
  states: { perSecond: 20, burst: 200 },
  /**
   * An honest agent sends no malformed frames. The allowance keeps an agent with a bug connected even if some of its
   * jobs fail.
   */
  malformed: { perSecond: 5, burst: 100 },
  /**
   * Counted in units of `computeIdleFrameCost`. Output that arrives after its job was cancelled also counts, so the
   * allowance is large.
   */
  idle: { perSecond: 2_000, burst: 10_000 },
};

/**
 * Decoding a frame costs one unit, plus one per `IDLE_UNIT_BYTES` bytes and one per `IDLE_UNIT_DELTAS` deltas. A unit
 * is about ten microseconds.
 */
const IDLE_UNIT_BYTES = 4096;
const IDLE_UNIT_DELTAS = 16;
export const computeIdleFrameCost = (bytes: number, deltas: number): number =>
  1 + bytes / IDLE_UNIT_BYTES + deltas / IDLE_UNIT_DELTAS;

/**
 * If frames still arrive from a disconnected node after this time, the gateway asks the plane again to disconnect it.
 */
const CUT_AGAIN_MS = 5_000;
/** After this time every allowance is full again, so the record can be dropped. */
const FORGET_AFTER_MS = 120_000;

interface Allowance {
  /** What is left of each allowance. */
  left: Record<FrameKind, number>;
  at: number;
  /** The time until which the node's frames are ignored. */
  ignoredUntil: number;
}

interface FrameRatesOptions {
  plane: Pick<DispatchPlane, "cut">;
  processPauses: Pick<ProcessPauses, "stoppedMs">;
  clock: Clock;
  log: Log;
}

export class FrameRates {
  readonly #options: FrameRatesOptions;
  readonly #log: RateLimitedLog;
  readonly #nodes = new Map<string, Allowance>();
  #forgetAt = 0;

  constructor(options: FrameRatesOptions) {
    this.#options = options;
    this.#log = rateLimitedLog(options.log, options.clock);
  }

  /** Whether the node's frames are read. They are not while it is being disconnected. */
  listensTo(nodeId: string): boolean {
    const allowance = this.#nodes.get(nodeId);
    return allowance === undefined || allowance.ignoredUntil <= this.#options.clock.monotonic();
  }

  /** Counts a frame of the node. Returns false if the node exceeded its limit and was disconnected. */
  count(nodeId: string, kind: FrameKind, cost = 1): boolean {
    const now = this.#options.clock.monotonic();
    const allowance = this.#allowance(nodeId, now);
    if (allowance.ignoredUntil > now) return false;
    allowance.left[kind] -= cost;
    if (allowance.left[kind] >= 0) return true;
    allowance.left[kind] = 0;
    allowance.ignoredUntil = now + CUT_AGAIN_MS;
    this.#log.warn(nodeId, { node: nodeId, what: kind }, "node sent frames faster than allowed; disconnecting it");
    this.#options.plane.cut(nodeId).catch((error) => {
      this.#log.error(nodeId, { node: nodeId, err: error }, "could not disconnect a node");
    });
    return false;
  }

  /** Handles the end of the node's connection: later frames come from a new one, and are read again. */
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
    // After a pause of this process, all frames that the node sent meanwhile arrive at once. So each second of the
    // pause adds to the node's allowance.
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
