/**
 * Decides when a node counts as silent, by two clocks. The node's own token times show how long its engine paused: a
 * pause under 2.0 s never counts, one over 2.3 s always does, whatever the network adds. Arrival times show how long no
 * frame arrived, with some tolerance for the network. Arrival times are checked for every node, also for one that sends
 * no token times. Nodes gain nothing by false times, which are only compared with each other, never billed, paid or
 * measured. If a node reports its pauses too short, the limit on arrival times still ends the job, 0.15 s later. If it
 * reports them too long, its own job ends. Decreasing times break the protocol; times in the future are ignored.
 */

import type { Endpoint } from "@tollgate/protocol/frames.ts";
import { ACCEPT_MS_MAX, PROMPT_READ_MS_MIN } from "../base/node-trust-thresholds.ts";

/** How long a node may take to accept while no other node could be asked. */
const ACCEPT_ALONE_MS_MAX = 2_000;
/** The longest pause between two tokens, or from acceptance to the first, by the node's own clock. */
const PAUSE_MS_MAX = 2_150;
/** The longest pause between two of the node's signs of life, measured by their arrival at the gateway. */
const SILENCE_MS_MAX = 2_300;
/** If a timer is later than this, this process was delayed, and so were the node's frames. */
export const TIMER_LATE_MS_MAX = 50;

/** The times that the node reports, in milliseconds since it accepted. */
interface OwnTimes {
  /** The time of the latest output, as the node stated it with that output. */
  toldMs: number;
  /** The latest sign of life, corrected if the reported time is impossible. */
  aliveMs: number;
}

/** The signs of life of an attempt, by this gateway's clock and by the node's. */
export interface SignsOfLife {
  readonly offeredAt: number;
  /** The deadline by which any node must accept the request. */
  readonly acceptBy: number;
  acceptedAt: number | null;
  readonly endpoint: Endpoint;
  lastOutputAt: number | null;
  /** The time of the latest sign of life. */
  aliveAt: number;
  readonly own: OwnTimes;
  /**
   * When to check next whether another node could take over. Checked until the node accepts, and then until its first
   * output.
   */
  lateAt: number;
  readonly reading: Reading;
}

/** How far the node has read the prompt. */
interface Reading {
  fraction: number;
  /** When the fraction of the prompt that the node has read last increased. */
  grewAt: number;
  /** For how long in total reports of progress count as signs of life. */
  readonly msMax: number;
  /** For how long they count while the fraction does not increase. */
  readonly stuckMsMax: number;
}

/**
 * Counts a progress report as a sign of life, within the time limits of `reading`. `fraction`: how much of the prompt
 * the engine has read; for embeddings, how much of the next input.
 */
export function recordProgress(heard: SignsOfLife, fraction: number, now: number): void {
  const { acceptedAt, lastOutputAt, own, endpoint, reading } = heard;
  const readsSince = endpoint === "embedding" ? (lastOutputAt ?? acceptedAt) : acceptedAt;
  if (acceptedAt === null || readsSince === null || now - readsSince >= reading.msMax) return;
  if (lastOutputAt !== null && endpoint !== "embedding") return;
  if (fraction > reading.fraction) [reading.fraction, reading.grewAt] = [fraction, now];
  else if (now - Math.max(reading.grewAt, readsSince) >= reading.stuckMsMax) return;
  heard.aliveAt = now;
  own.aliveMs = now - acceptedAt;
}

/** Counts output as a sign of life: by the node's own times if it sends them, otherwise by arrival time. */
export function recordOutput(
  { acceptedAt, offeredAt, own }: SignsOfLife,
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

/**
 * Judges output by the times that the node reports with it. Times after `sinceOfferMs`, the time since the offer, are
 * impossible and count as `sinceOfferMs`.
 */
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

/** How much longer the node may stay silent, and the event that follows then. */
export function computeSilenceTimeout(
  attempt: Pick<SignsOfLife, "acceptedAt" | "aliveAt" | "acceptBy" | "lateAt" | "lastOutputAt">,
  now: number,
  jobMsMax: number,
): { leftMs: number; event: "quiet" | "late" | "expire" | "cut" } {
  if (attempt.acceptedAt === null) {
    const untilQuietMs = attempt.aliveAt + ACCEPT_ALONE_MS_MAX - now;
    const untilOverMs = attempt.acceptBy - now;
    const untilEndMs = Math.min(untilQuietMs, untilOverMs);
    const untilLateMs = attempt.lateAt - now;
    if (untilEndMs > 0 && untilLateMs < untilEndMs) return { leftMs: untilLateMs, event: "late" };
    // The node is silent for too long, or the request's deadline comes first, which is not the node's fault.
    return untilQuietMs <= untilOverMs
      ? { leftMs: untilQuietMs, event: "quiet" }
      : { leftMs: untilOverMs, event: "cut" };
  }
  const untilQuietMs = attempt.aliveAt + SILENCE_MS_MAX - now;
  const untilOverMs = attempt.acceptedAt + jobMsMax - now;
  // The node is still reading the prompt. It needs signs of life, and may be replaced if it is late.
  if (attempt.lastOutputAt === null && attempt.aliveAt > attempt.acceptedAt) {
    const untilLateMs = Math.max(attempt.lateAt, attempt.acceptedAt + PROMPT_READ_MS_MIN) - now;
    const untilEndMs = Math.min(untilQuietMs, untilOverMs);
    if (untilEndMs > 0 && untilLateMs < untilEndMs) return { leftMs: untilLateMs, event: "late" };
  }
  return untilQuietMs <= Math.max(0, untilOverMs)
    ? { leftMs: untilQuietMs, event: "quiet" }
    : { leftMs: untilOverMs, event: "expire" };
}

/** Postpones the check of a late node, because no other node can take over now. */
export function postponeLatenessCheck(heard: Pick<SignsOfLife, "lateAt">, now: number): void {
  heard.lateAt = now + ACCEPT_MS_MAX;
}
