/**
 * Computes which rows of a chart are visible. A zoom is stored as times, because new rows arrive while the page is
 * open. Pure.
 */
export interface ZoomedTimes {
  fromMs: number;
  toMs: number;
}

/** The indexes of the first and the last visible row. */
export interface VisibleRows {
  first: number;
  last: number;
}

/** The smallest zoom: a line needs two rows. */
const ROWS_MIN = 2;

const whole = (moments: number[]): VisibleRows => ({ first: 0, last: Math.max(0, moments.length - 1) });
const isWhole = ({ first, last }: VisibleRows, moments: number[]): boolean => first <= 0 && last >= moments.length - 1;

/** Returns all rows if none of the zoomed rows is left. */
export function findVisibleRows(moments: number[], zoom: ZoomedTimes | undefined): VisibleRows {
  if (zoom === undefined) return whole(moments);
  const first = moments.findIndex((at) => at >= zoom.fromMs);
  const last = moments.findLastIndex((at) => at <= zoom.toMs);
  return first < 0 || last - first + 1 < ROWS_MIN ? whole(moments) : { first, last };
}

/** A zoom to the rows from one index to another, in either order. Undefined for too few rows, or for all rows. */
export function zoomBetweenRows(moments: number[], one: number, other: number): ZoomedTimes | undefined {
  const view = { first: Math.min(one, other), last: Math.max(one, other) };
  if (view.last - view.first + 1 < ROWS_MIN || isWhole(view, moments)) return undefined;
  return { fromMs: moments[view.first] as number, toMs: moments[view.last] as number };
}

/** A zoom to half or twice as many rows, around one of them. */
export function scaleZoom(
  moments: number[],
  view: VisibleRows,
  around: number,
  by: "in" | "out",
): ZoomedTimes | undefined {
  const rows = view.last - view.first + 1;
  const wanted = by === "in" ? Math.max(ROWS_MIN, Math.ceil(rows / 2)) : rows * 2;
  const first = Math.max(0, Math.min(around - Math.floor(wanted / 2), moments.length - wanted));
  return zoomBetweenRows(moments, first, Math.min(first + wanted, moments.length) - 1);
}

/** A zoom with the same number of rows, moved so that the given row is visible. */
export function moveZoom(moments: number[], { first, last }: VisibleRows, to: number): ZoomedTimes | undefined {
  const by = to < first ? to - first : Math.max(0, to - last);
  return zoomBetweenRows(moments, first + by, last + by);
}
