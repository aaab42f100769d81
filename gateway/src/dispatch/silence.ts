/**
 * When a node counts as quiet. Two clocks are looked at. The node's own token times say how long its engine paused:
 * a pause under 2.0 s never counts, one over 2.3 s always does, and nothing on the way to us can change that. Arrival says
 * how long nothing was heard, with some room for that way; it holds for every node, also one that tells no times.
 *
 * A node gains nothing by lying about times. They are compared with each other and with nothing that is billed, paid or
 * measured. Pauses told shorter than they were still end at the bound on arrival, 0.15 s later; pauses told longer end its
 * own job, which it can do by falling silent as well. Times that run backwards break the protocol; times that have not yet
 * come are not believed.
 */

import type { Endpoint } from "@tollgate/protocol/frames.ts";
import { ACCEPT_MS_MAX, READ_MS_MIN } from "../base/node-thresholds.ts";

/** To accept, while no one else could be asked. */
const ACCEPT_ALONE_MS_MAX = 2_000;
/** Between two tokens, or from acceptance to the first, on the node's own clock. */
const PAUSE_MS_MAX = 2_150;
/** The same as it is heard here. */
const SILENCE_MS_MAX = 2_300;
/** A timer that runs later than this was kept waiting by this process, and so was what nodes said meanwhile. */
export const LATE_MS_MAX = 50;

/** What a node's own times came to, in milliseconds since it accepted. */
interface OwnTimes {
  /** The last time it told. */
  toldMs: number;
  /** Its last sign of life, as far as it is believed. */
  aliveMs: number;
}

/** What was heard of an attempt, by this gateway's clock and by the node's. */
export interface Heard {
  readonly offeredAt: number;
  /** By then someone must have accepted the request, whoever it is. */
  readonly acceptBy: number;
  acceptedAt: number | null;
  readonly endpoint: Endpoint;
  lastOutputAt: number | null;
  /** The last sign of life. */
  aliveAt: number;
  readonly own: OwnTimes;
  /** When the attempt is looked at next, because another node may be free: before it is accepted, and before it has output. */
  lateAt: number;
  readonly reading: Reading;
}

/** How the node reads the prompt. */
interface Reading {
  fraction: number;
  /** When the fraction last grew. */
  grewAt: number;
  /** For how long progress is a sign of life: in all, and while the fraction does not grow. */
  readonly msMax: number;
  readonly stuckMsMax: number;
}

/** The node reads the prompt; of an embedding, the next of its inputs. */
export function hearProgress(heard: Heard, fraction: number, now: number): void {
  const { acceptedAt, lastOutputAt, own, endpoint, reading } = heard;
  const readsSince = endpoint === "embedding" ? (lastOutputAt ?? acceptedAt) : acceptedAt;
  if (acceptedAt === null || readsSince === null || now - readsSince >= reading.msMax) return;
  if (lastOutputAt !== null && endpoint !== "embedding") return;
  if (fraction > reading.fraction) [reading.fraction, reading.grewAt] = [fraction, now];
  else if (now - Math.max(reading.grewAt, readsSince) >= reading.stuckMsMax) return;
  heard.aliveAt = now;
  own.aliveMs = now - acceptedAt;
}

/** What output means, by the node's own times where it tells them, else by its arrival alone. */
export function hearOutput(
  { acceptedAt, offeredAt, own }: Heard,
  times: { firstMs: number; lastMs: number } | undefined,
  now: number,
): "output" | "quiet" | "broken" {
  if (acceptedAt === null) return "broken";
  if (times === undefined) {
    own.aliveMs = now - acceptedAt;
    return "output";
  }
  return readTimes(own, times, now - offeredAt);
}

/** Takes in the times of a delta. `sinceOfferMs`: more cannot have passed for the node. */
function readTimes(
  own: OwnTimes,
  { firstMs, lastMs }: { firstMs: number; lastMs: number },
  sinceOfferMs: number,
): "output" | "quiet" | "broken" {
  if (firstMs < own.toldMs) return "broken";
  const pauseMs = Math.min(firstMs, sinceOfferMs) - own.aliveMs;
  own.toldMs = lastMs;
  own.aliveMs = Math.min(lastMs, sinceOfferMs);
  return pauseMs > PAUSE_MS_MAX ? "quiet" : "output";
}

/** How long the node may still say nothing, and what it is when that has passed. */
export function patience(
  attempt: Pick<Heard, "acceptedAt" | "aliveAt" | "acceptBy" | "lateAt" | "lastOutputAt">,
  now: number,
  jobMsMax: number,
): { leftMs: number; event: "quiet" | "late" | "expire" | "cut" } {
  if (attempt.acceptedAt === null) {
    const untilQuietMs = attempt.aliveAt + ACCEPT_ALONE_MS_MAX - now;
    const untilOverMs = attempt.acceptBy - now;
    const untilEndMs = Math.min(untilQuietMs, untilOverMs);
    const untilLateMs = attempt.lateAt - now;
    if (untilEndMs > 0 && untilLateMs < untilEndMs) return { leftMs: untilLateMs, event: "late" };
    // Too late for the request is not late for the node.
    return untilQuietMs <= untilOverMs
      ? { leftMs: untilQuietMs, event: "quiet" }
      : { leftMs: untilOverMs, event: "cut" };
  }
  const untilQuietMs = attempt.aliveAt + SILENCE_MS_MAX - now;
  const untilOverMs = attempt.acceptedAt + jobMsMax - now;
  // It reads the prompt: one that shows no sign of life is silent.
  if (attempt.lastOutputAt === null && attempt.aliveAt > attempt.acceptedAt) {
    const untilLateMs = Math.max(attempt.lateAt, attempt.acceptedAt + READ_MS_MIN) - now;
    const untilEndMs = Math.min(untilQuietMs, untilOverMs);
    if (untilEndMs > 0 && untilLateMs < untilEndMs) return { leftMs: untilLateMs, event: "late" };
  }
  return untilQuietMs <= Math.max(0, untilOverMs)
    ? { leftMs: untilQuietMs, event: "quiet" }
    : { leftMs: untilOverMs, event: "expire" };
}

/** The node is late, but not to be passed over now: it is looked at again. */
export function waitOn(heard: Pick<Heard, "lateAt">, now: number): void {
  heard.lateAt = now + ACCEPT_MS_MAX;
}
