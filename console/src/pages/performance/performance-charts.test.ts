import assert from "node:assert/strict";
import { test } from "node:test";
import { lineRows, listPercentilePoints } from "./performance-charts.ts";

const figures = {
  requests: 2,
  ok: 2,
  closed: 0,
  failed: 0,
  error_share: 0,
  ttft_ms: { p50: 10, p95: 20, p99: 30 },
  duration_ms: { p50: 100, p95: 200, p99: 300 },
};
const FROM = 1_790_000_400;
const answer = {
  from: FROM,
  to: FROM + 900,
  slot_s: 300,
  series: [
    { at: FROM, ...figures, tokens_per_second: 41.5 },
    { at: FROM + 600, ...figures, tokens_per_second: null },
  ],
};

test("a performance chart has a row for every time bucket, and gaps for buckets without requests", () => {
  assert.deepEqual(
    listPercentilePoints(answer, ({ ttft_ms }) => ttft_ms).map(({ at, p95 }) => [at, p95]),
    [
      [FROM * 1000, 20],
      [(FROM + 300) * 1000, null],
      [(FROM + 600) * 1000, 20],
    ],
  );
  const rows = lineRows(answer, "speed", ({ tokens_per_second }) => tokens_per_second);
  assert.deepEqual(
    rows.map(({ values }) => values),
    [{ speed: 41.5 }, {}, {}],
  );
  assert.equal(new Set(rows.map(({ label }) => label)).size, 3);
});
