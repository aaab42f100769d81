/** The performance figures of a builder's requests, from rollups. */
import type { performanceRoutes } from "@tollgate/api/console/performance.ts";
import { PLAYGROUND_KEY_FILTER } from "@tollgate/api/console/playground.ts";
import { publicId } from "../../base/ids.ts";
import { toUnixSeconds } from "../../base/time.ts";
import { computeTimeSlots, type PerformanceSum } from "../../history/performance-reader.ts";
import type { HistoryServices } from "../../history/services.ts";
import type { Handlers } from "../../http/serve-routes.ts";
import type { InferenceServices } from "../../inference/services.ts";
import type { KeyServices } from "../../keys/services.ts";
import type { SiteServices } from "../services.ts";
import { findApiKeysOfFilter } from "./find-api-keys-of-filter.ts";

const NOTHING: Figures = {
  requests: 0,
  ok: 0,
  closed: 0,
  failed: 0,
  errorShare: null,
  ttft: { p50: null, p95: null, p99: null },
  duration: { p50: null, p95: null, p99: null },
  tokensPerSecond: null,
};

export function performanceHandlers(
  parts: Pick<HistoryServices, "performance"> &
    Pick<InferenceServices, "catalogue"> &
    Pick<KeyServices, "sessionKeys"> &
    Pick<SiteServices, "now">,
): Handlers<typeof performanceRoutes> {
  const { performance, catalogue, sessionKeys, now } = parts;
  return {
    async getPerformance({ account, query: { range, by, model, key, to }, refuse }) {
      if (model !== undefined && !catalogue().entries.some(({ id }) => id === model)) throw refuse("unknown_model");
      const slots = computeTimeSlots(range, now(), to);
      const [keyIds, ofPlayground] = await Promise.all([
        findApiKeysOfFilter(sessionKeys, account.id, key),
        by === "key" ? sessionKeys.ofAccount(account.id) : [],
      ]);
      const asked = { scope: "account" as const, subjects: [account.id], ...slots, model, keyIds, asOne: ofPlayground };
      const { total, rows, points } = await performance.each(asked, { total: [], rows: [by], points: ["slot"] });
      return {
        object: "performance",
        range,
        by,
        from: toUnixSeconds(slots.from),
        to: toUnixSeconds(slots.to),
        slot_s: slots.slotMs / 1000,
        total: figures(total[0] ?? NOTHING),
        data: rows.map((sum) => ({
          ...(sum.model !== null && { model: sum.model }),
          ...(sum.key !== null && {
            key: sum.key === ofPlayground[0] ? PLAYGROUND_KEY_FILTER : publicId("key", sum.key),
          }),
          ...figures(sum),
        })),
        series: points.flatMap((sum) => (sum.slot === null ? [] : [{ at: toUnixSeconds(sum.slot), ...figures(sum) }])),
      };
    },
  };
}

type Figures = Pick<
  PerformanceSum,
  "requests" | "ok" | "closed" | "failed" | "errorShare" | "ttft" | "duration" | "tokensPerSecond"
>;

const figures = ({ requests, ok, closed, failed, errorShare, ttft, duration, tokensPerSecond }: Figures) => ({
  requests,
  ok,
  closed,
  failed,
  error_share: errorShare,
  ttft_ms: ttft,
  duration_ms: duration,
  tokens_per_second: tokensPerSecond,
});
