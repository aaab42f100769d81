/** The retry schedule of deliveries. Pure. */
import type { DeliveryChannel } from "../base/stored-enumerations.ts";
import { DAY_MS, HOUR_MS } from "../base/time.ts";

const FIRST_PAUSE_MS = 30_000;
const PAUSE_MS_MAX = 2 * HOUR_MS;
const KEPT_MS: Record<DeliveryChannel, number> = { email: 3 * DAY_MS, webhook: DAY_MS, slack: DAY_MS };

interface Tried {
  channel: DeliveryChannel;
  /** The number of attempts, including this one. */
  attempts: number;
  createdAtMs: number;
  nowMs: number;
}

/** When to try again, in Unix milliseconds; undefined: the delivery is abandoned. */
export function computeNextAttemptAtMs({ channel, attempts, createdAtMs, nowMs }: Tried): number | undefined {
  const next = nowMs + Math.min(FIRST_PAUSE_MS * 2 ** (attempts - 1), PAUSE_MS_MAX);
  return next - createdAtMs <= KEPT_MS[channel] ? next : undefined;
}
