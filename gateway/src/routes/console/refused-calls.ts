/** Refused calls by error code: their number, their API keys, and the latest examples. */
import type { refusedCallRoutes } from "@tollgate/api/console/refused-calls.ts";
import { publicId } from "../../base/ids.ts";
import { toUnixSeconds } from "../../base/time.ts";
import type { RefusedCallSum } from "../../history/refused-call-rows.ts";
import { REFUSED_CALLS_KEPT_MS } from "../../history/refused-calls.ts";
import type { HistoryServices } from "../../history/services.ts";
import type { Handlers } from "../../http/serve-routes.ts";
import type { SiteServices } from "../services.ts";

export function refusedCallHandlers({
  refusedCalls,
  now,
}: Pick<HistoryServices, "refusedCalls"> & Pick<SiteServices, "now">): Handlers<typeof refusedCallRoutes> {
  return {
    async listRefusals({ account, query }) {
      const asOf = now();
      const { to = new Date(asOf), from = new Date(to.getTime() - REFUSED_CALLS_KEPT_MS) } = query;
      const [sums, examples] = await Promise.all([
        refusedCalls.sums(account.id, { from, to }),
        refusedCalls.examples(account.id),
      ]);
      const last = new Map(examples.map((one) => [one.code, one.examples]));
      const names = new Map(sums.map(({ keyId, keyName }) => [keyId, keyName]));
      const data = byCode(sums).map(({ code, keys }) => ({
        code,
        status: keys[0]?.status ?? 0,
        requests: keys.reduce((sum, { requests }) => sum + requests, 0),
        last_at: Math.max(...keys.map(({ lastAt }) => toUnixSeconds(lastAt))),
        keys: keys.map(({ keyId, keyName, requests }) => ({ id: publicId("key", keyId), name: keyName, requests })),
        examples: (last.get(code) ?? [])
          .filter(({ at }) => at >= from.getTime() && at < to.getTime())
          .map(({ at, key, model, message }) => ({
            at: Math.floor(at / 1000),
            key: { id: publicId("key", key), name: names.get(key) ?? "" },
            model,
            message,
          })),
      }));
      const span = { from: toUnixSeconds(from), to: toUnixSeconds(to), as_of: Math.floor(asOf / 1000) };
      return { object: "list", ...span, data: data.sort((a, b) => b.requests - a.requests), next_cursor: null };
    },
  };
}

function byCode(sums: RefusedCallSum[]): { code: string; keys: RefusedCallSum[] }[] {
  const codes = new Map<string, RefusedCallSum[]>();
  for (const sum of sums) codes.set(sum.code, [...(codes.get(sum.code) ?? []), sum]);
  return [...codes].map(([code, keys]) => ({ code, keys }));
}
