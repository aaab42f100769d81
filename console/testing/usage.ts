/** The sums that the real API takes from its rollup, here from the made-up requests themselves. */
import type { RequestRecord } from "../src/api/types.ts";
import { formatMicro, parseMicro } from "../src/money.ts";

export function usageOf(requests: RequestRecord[], query: URLSearchParams, nowS: number): object {
  const by = query.get("by") ?? "day";
  const split = query.get("split");
  const from = Date.parse(query.get("from") ?? "1970-01-01") / 1000;
  const rows = new Map<string, { part: Record<string, string>; requests: RequestRecord[] }>();
  for (const request of requests.filter(({ created_at }) => created_at >= from)) {
    const part = { [by]: bucketOf(request, by), ...(split !== null && { [split]: bucketOf(request, split) }) };
    const name = Object.values(part).join("\n");
    const row = rows.get(name) ?? { part, requests: [] };
    rows.set(name, { part, requests: [...row.requests, request] });
  }
  const data = [...rows.values()].map(({ part, requests: of }) => ({
    ...part,
    requests: of.length,
    prompt_tokens: of.reduce((sum, { usage }) => sum + usage.prompt_tokens, 0),
    completion_tokens: of.reduce((sum, { usage }) => sum + usage.completion_tokens, 0),
    charge_micro: formatMicro(of.reduce((sum, { charge_micro }) => sum + parseMicro(charge_micro), 0n)),
  }));
  return { object: "list", by, from, to: nowS, data, next_cursor: null };
}

function bucketOf(request: RequestRecord, by: string): string {
  const iso = new Date(request.created_at * 1000).toISOString();
  if (by === "day") return iso.slice(0, 10);
  if (by === "hour") return `${iso.slice(0, 13)}:00:00Z`;
  if (by === "key") return request.key.id;
  return by === "outcome" ? request.outcome : (request.model ?? "");
}
