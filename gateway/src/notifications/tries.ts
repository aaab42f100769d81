/** The retry schedule of deliveries. Pure. */
import type { DeliveryChannel } from "../base/states.ts";
import { DAY_MS } from "../base/time.ts";

const FIRST_PAUSE_MS = 30_000;
const PAUSE_MS_MAX = 2 * 60 * 60 * 1000;
const KEPT_MS: Record<DeliveryChannel, number> = { email: 3 * DAY_MS, webhook: DAY_MS, slack: DAY_MS };

interface Tried {
  channel: DeliveryChannel;
  /** This one included. */
  attempts: number;
  createdAtMs: number;
  nowMs: number;
}

/** Unix milliseconds; undefined: it is given up. */
export function nextTry({ channel, attempts, createdAtMs, nowMs }: Tried): number | undefined {
  const next = nowMs + Math.min(FIRST_PAUSE_MS * 2 ** (attempts - 1), PAUSE_MS_MAX);
  return next - createdAtMs <= KEPT_MS[channel] ? next : undefined;
}
