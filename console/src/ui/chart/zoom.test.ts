import assert from "node:assert/strict";
import { test } from "node:test";
import { findVisibleRows, moveZoom, scaleZoom, zoomBetweenRows } from "./zoom.ts";

const MOMENTS = Array.from({ length: 10 }, (_, i) => i * 1000);
const seen = (zoom: ReturnType<typeof zoomBetweenRows>, moments = MOMENTS): number[] => {
  const { first, last } = findVisibleRows(moments, zoom);
  return [first, last];
};

test("shows all rows when no zoom is set", () => {
  assert.deepEqual(seen(undefined), [0, 9]);
  assert.deepEqual(seen(undefined, []), [0, 0]);
});

test("zooms to the dragged rows in either direction", () => {
  assert.deepEqual(seen(zoomBetweenRows(MOMENTS, 3, 6)), [3, 6]);
  assert.deepEqual(seen(zoomBetweenRows(MOMENTS, 6, 3)), [3, 6]);
});

test("does not zoom on a click or on a drag over all rows", () => {
  assert.equal(zoomBetweenRows(MOMENTS, 4, 4), undefined);
  assert.equal(zoomBetweenRows(MOMENTS, 0, 9), undefined);
});

test("keeps the zoom on the same times when new rows arrive, and ends it when these times leave the chart", () => {
  const zoom = zoomBetweenRows(MOMENTS, 3, 6);
  assert.deepEqual(seen(zoom, MOMENTS.slice(2)), [1, 4]);
  assert.deepEqual(seen(zoom, MOMENTS.slice(6)), [0, 3], "one row is left of it");
  assert.deepEqual(seen(zoom, MOMENTS.slice(8)), [0, 1]);
});

test("halves or doubles the visible rows per zoom step, from two rows up to the whole chart", () => {
  const all = findVisibleRows(MOMENTS, undefined);
  const half = scaleZoom(MOMENTS, all, 5, "in");
  assert.deepEqual(seen(half), [3, 7]);
  assert.deepEqual(seen(scaleZoom(MOMENTS, all, 0, "in")), [0, 4]);
  assert.deepEqual(seen(scaleZoom(MOMENTS, all, 9, "in")), [5, 9]);
  assert.deepEqual(seen(scaleZoom(MOMENTS, findVisibleRows(MOMENTS, half), 5, "out")), [0, 9]);
  const two = zoomBetweenRows(MOMENTS, 4, 5);
  assert.deepEqual(seen(scaleZoom(MOMENTS, findVisibleRows(MOMENTS, two), 4, "in")), [3, 4], "two rows are the fewest");
});

test("moves the zoom so that a given row is visible", () => {
  const view = findVisibleRows(MOMENTS, zoomBetweenRows(MOMENTS, 3, 6));
  assert.deepEqual(seen(moveZoom(MOMENTS, view, 7)), [4, 7]);
  assert.deepEqual(seen(moveZoom(MOMENTS, view, 0)), [0, 3]);
  assert.deepEqual(seen(moveZoom(MOMENTS, view, 5)), [3, 6]);
});
