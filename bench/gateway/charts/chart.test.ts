/** Tests that bars are drawn to scale and that a bar much longer than the others is cut. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ChartBar, renderChartSvg } from "./chart.ts";

const bar = (label: string, ...parts: number[]): ChartBar => ({
  label,
  parts,
  figure: parts.join(" + "),
  isOurs: false,
});
const widths = (svg: string): number[] =>
  [...svg.matchAll(/class="(?:bar|pale)" x="[\d.]+" y="\d+" width="([\d.]+)" height="18"/g)].map(([, w]) => Number(w));

test("a bar's length is the sum of its parts", () => {
  const svg = renderChartSvg({ title: "t", legend: [], bars: [bar("a", 1), bar("b", 1, 3), bar("c", 2)] });
  const [a = 0, ...others] = widths(svg);
  assert.deepEqual(
    others.map((width) => Math.round(width / a)),
    [1, 3, 2],
  );
  assert.doesNotMatch(svg, /class="cut"/);
});

test("a bar much longer than the others is cut off and marked, and its label shows the full value", () => {
  const svg = renderChartSvg({ title: "t", legend: [], bars: [bar("a", 1), bar("b", 40), bar("c", 2)] });
  const [a = 0, b = 0, c = 0] = widths(svg);
  assert.ok(b > c && b < 1.5 * c, `${b} beside ${c}`);
  assert.ok(Math.abs(c / a - 2) < 0.01, "the others keep their proportions");
  assert.equal(svg.match(/class="cut"/g)?.length, 1);
  assert.match(svg, />40<\/text>/);
});

test("a long bar with two parts is cut off within the picture, and the part beyond the cut is not drawn", () => {
  const svg = renderChartSvg({ title: "t", legend: [], bars: [bar("a", 1), bar("b", 5, 40)] });
  const [, first = 0, second] = widths(svg);
  assert.ok(first < 760 / 2, String(first));
  assert.equal(second, undefined, "what lies beyond the cut is not drawn");
});

test("a missing measurement draws no bar, and names are escaped", () => {
  const svg = renderChartSvg({ title: "a < b & c", legend: ["gateway"], bars: [{ ...bar("<x>", 0), figure: "–" }] });
  assert.deepEqual(widths(svg), []);
  assert.match(svg, /<title>a &lt; b &amp; c<\/title>/);
  assert.match(svg, />&lt;x>/);
});
