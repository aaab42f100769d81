/**
 * Decides whether the gateway is reachable. Every call reports its result. After an unanswered call, a probe is sent;
 * if that fails too, the gateway counts as unreachable. Retries become less frequent, and run at once on request.
 */
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 30_000;
/** After this many milliseconds without a response, the gateway is probed. */
export const SLOW_RESPONSE_MS = 8_000;

export interface Outage {
  /** When the first unanswered request was sent, in milliseconds. */
  since: number;
  /** When the last response arrived; undefined if none has arrived since the page loaded. */
  dataAt: number | undefined;
}

interface ReachParts {
  /** Sends a probe to the gateway; resolves to whether the gateway responded. */
  probe: () => Promise<boolean>;
  nowMs: () => number;
  /** Schedules `call`; returns a function that cancels it. */
  later: (ms: number, call: () => void) => () => void;
  /** A number from 0 to 1, so that not all pages retry at once when the gateway is back. */
  random: () => number;
}

export function watchReachability({ probe, nowMs, later, random }: ReachParts) {
  let away: Outage | undefined;
  let answeredAt: number | undefined;
  let missedAt: number | undefined;
  let asking = false;
  let retryMs = RETRY_MS_MIN;
  let cancel = (): void => {};
  const listeners = new Set<() => void>();

  function become(next: Outage | undefined): void {
    if (away === undefined && next === undefined) return;
    away = next;
    for (const listener of listeners) listener();
  }

  function answered(): void {
    answeredAt = nowMs();
    missedAt = undefined;
    retryMs = RETRY_MS_MIN;
    cancel();
    become(undefined);
  }

  function missed(): void {
    if (missedAt !== undefined) return;
    missedAt = nowMs();
    void tryNow();
  }

  async function tryNow(): Promise<void> {
    if (asking) return;
    cancel();
    asking = true;
    const answers = await probe();
    asking = false;
    // Another request may have got a response during the probe.
    if (answers || missedAt === undefined) return answered();
    if (away === undefined) become({ since: missedAt, dataAt: answeredAt });
    cancel = later(retryMs * (0.5 + random() / 2), () => void tryNow());
    retryMs = Math.min(retryMs * 2, RETRY_MS_MAX);
  }

  return {
    answered,
    missed,
    tryNow,
    current: (): Outage | undefined => away,
    subscribe(listener: () => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
