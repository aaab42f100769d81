import assert from "node:assert/strict";
import { test } from "node:test";
import { QueryObserver } from "@tanstack/react-query";
import { refreshIntervalOf } from "./outdated-data.ts";
import { queryClient } from "./query-client.ts";

test("judges a figure's age by the refresh interval of its own query", () => {
  const intervals = [300_000, 5_000, false] as const;
  const stops = intervals.map((refetchInterval, i) => {
    const queryKey = ["figure", i];
    queryClient.setQueryData(queryKey, { figure: i });
    return new QueryObserver(queryClient, { queryKey, refetchInterval, enabled: false }).subscribe(() => {});
  });
  const found = intervals.map((_, i) => refreshIntervalOf(queryClient.getQueryData(["figure", i])));
  for (const stop of stops) stop();
  queryClient.clear();
  assert.deepEqual(found, [300_000, 5_000, Number.POSITIVE_INFINITY]);
});
