import assert from "node:assert/strict";
import { test } from "node:test";
import { formatChartCsv, formatFileName, renderChartSvg } from "./chart-export.ts";

const DAY = 86_400_000;
const at = Date.parse("2026-11-15");
const series = [
  { name: "tiny-3b", colour: 1 },
  { name: "=2+3, a key", colour: 2 },
];

test("writes full values, UTC times and the unit to a CSV file", () => {
  const rows = [
    { label: "Nov 15 UTC", at, values: { "tiny-3b": 0.000004 }, texts: { "tiny-3b": "$1,000.00000432" } },
    { label: "Nov 16 UTC", at: at + DAY, values: { "tiny-3b": 2, "=2+3, a key": 3.5 } },
  ];
  assert.deepEqual(formatChartCsv({ unit: "USD", series, rows }).split("\r\n"), [
    `time_utc,tiny-3b (USD),"'=2+3, a key (USD)"`,
    "2026-11-15T00:00:00.000Z,1000.00000432,",
    "2026-11-16T00:00:00.000Z,2,3.5",
    "",
  ]);
});

test("writes the previous period's columns beside the current ones", () => {
  const row = (moment: number, value: number) => ({ label: "", at: moment, values: { "tiny-3b": value } });
  const text = formatChartCsv({
    unit: "ms",
    series: series.slice(0, 1),
    rows: [row(at, 5), row(at + DAY, 6)],
    before: { words: "the 2 days before", rows: [row(at - DAY, 7)] },
  });
  assert.deepEqual(text.split("\r\n").slice(0, 3), [
    "time_utc,tiny-3b (ms),before: time_utc,before: tiny-3b (ms)",
    "2026-11-15T00:00:00.000Z,5,2026-11-14T00:00:00.000Z,7",
    "2026-11-16T00:00:00.000Z,6,,",
  ]);
});

test("writes fixed colors instead of CSS variables to an SVG file, and escapes names", () => {
  const text = renderChartSvg({
    title: "Spend <by> key",
    drawing: '<path d="M0,0" fill="var(--chart-1)"/>',
    width: 300,
    height: 100,
    legend: [
      { name: "a & b", colour: "var(--chart-1)" },
      { name: "a name that is too long to stand beside the first one", colour: "var(--chart-2)" },
    ],
    note: "Days in UTC",
    colourOf: (name) => ({ "--chart-1": "#111111", "--chart-2": "#222222" })[name] ?? "#000000",
  });
  assert.doesNotMatch(text, /var\(/);
  assert.match(text, /<path d="M0,0" fill="#111111"\/>/);
  assert.match(text, /Spend &lt;by&gt; key/);
  assert.match(text, /a &amp; b/);
  assert.match(text, /y="154">a &amp; b.*y="174">a name/, "the legend goes on in a second line");
});

test("names a file after the chart", () => {
  assert.equal(formatFileName("First token, p95 in the last 7 days"), "first-token-p95-in-the-last-7-days");
});
