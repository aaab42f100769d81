/** The `--range` flag: the period that figures cover. */
import type { ActivityRange } from "./gateway/gateway-client.ts";

export const RANGE_LABELS: Record<ActivityRange, string> = {
  "1h": "the last hour",
  "6h": "the last 6 hours",
  "24h": "the last 24 hours",
  "7d": "the last 7 days",
  "30d": "the last 30 days",
  "90d": "the last 90 days",
};
export const RANGES = Object.keys(RANGE_LABELS);
