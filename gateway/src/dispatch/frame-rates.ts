/**
 * Limits how much a node may send, on any plane: state frames, malformed frames, and idle frames (about jobs that it does not run, signs of
 * life, unknown kinds). Output of its own jobs is limited by their caps and not counted here. A node above a limit is disconnected, and its
 * frames are ignored until the plane has dropped it. This check comes before any frame is decoded.
 */
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { type RateLimitedLog, rateLimitedLog } from "../base/rate-limited-log.ts";
import type { Plane } from "../plane/plane.ts";
import type { ProcessPauses } from "./process-pauses.ts";

interface Rate {
  perSecond: number;
  /** The allowance after a quiet time. */
  burst: number;
}

type FrameKind = "states" | "malformed" | "idle";

export const FRAME_RATES: Record<FrameKind, Rate> = {
  states: { perSecond: 20, burst: 200 },
  /** An honest agent sends none. The allowance lets an agent with a bug fail some jobs without losing its connection. */
  malformed: { perSecond: 5, burst: 100 },
  /** Counted by `idleCost`. Output in flight when a job is cancelled counts here, so the allowance is ample. */
  idle: { perSecond: 2_000, burst: 10_000 },
};

/** The cost of decoding a frame: a base, its bytes, and its deltas. A unit is about ten microseconds. */
const IDLE_UNIT_BYTES = 4096;
const IDLE_UNIT_DELTAS = 16;
export const idleCost = (bytes: number, deltas: number): number =>
  1 + bytes / IDLE_UNIT_BYTES + deltas / IDLE_UNIT_DELTAS;

/** If frames still come from a disconnected node, the plane is asked again after this time. */
const CUT_AGAIN_MS = 5_000;
/** By then every allowance is full again, so the record can be dropped. */
const FORGET_AFTER_MS = 120_000;

interface Allowance {
  /** The rest of each allowance. */
  left: Record<FrameKind, number>;
  at: number;
  /** Until when the node's frames are ignored. */
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
  readonly #log: RateLimitedLog;
  readonly #nodes = new Map<string, Allowance>();
  #forgetAt = 0;

  constructor(options: FrameRatesOptions) {
    this.#options = options;
    this.#log = rateLimitedLog(options.log, options.clock);
  }

  /** Whether the node's frames are read at all. */
  listensTo(nodeId: string): boolean {
    const allowance = this.#nodes.get(nodeId);
    return allowance === undefined || allowance.ignoredUntil <= this.#options.clock.monotonic();
  }

  /** Counts a frame of the node. Returns false when the node is over its limit and has been disconnected. */
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

  /** The node's connections ended, so later frames come from a new connection. */
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
    // Frames of a pause of this process arrive at once, and each second of the pause had its own allowance.
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
