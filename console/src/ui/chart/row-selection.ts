/** A hook that selects rows, and zooms or narrows the page to them, with the pointer and the keyboard. */
import { type KeyboardEvent, type PointerEvent, useState } from "react";
import { findNearestRow } from "./geometry.ts";
import { findKeyAction } from "./keyboard-controls.ts";
import { moveZoom, scaleZoom, type VisibleRows, type ZoomedTimes, zoomBetweenRows } from "./zoom.ts";

interface Parts {
  /** The times of all rows, including those outside the zoom. */
  moments: number[];
  view: VisibleRows;
  /** The horizontal middles of the visible rows. */
  middles: number[];
  onZoom: (zoom: ZoomedTimes | undefined) => void;
  /** Set if a selection narrows the page. The chart then does not zoom. */
  onNarrow?: ((selected: ZoomedTimes) => void) | undefined;
}

type Pointing = PointerEvent<SVGSVGElement>;

export function useRowSelection({ moments, view, middles, onZoom, onNarrow }: Parts) {
  const [atMs, setAtMs] = useState<number>();
  const [dragMs, setDragMs] = useState<number>();
  /** The index of a time among the visible rows. */
  const placeOf = (ms: number | undefined): number | undefined => {
    const place = ms === undefined ? -1 : moments.indexOf(ms);
    return place < view.first || place > view.last ? undefined : place - view.first;
  };
  const at = placeOf(atMs);
  const pointedAt = ({ clientX, currentTarget }: Pointing): number | undefined =>
    moments[view.first + findNearestRow(middles, clientX - currentTarget.getBoundingClientRect().left)];
  const select = (from: number, to: number): void => {
    const zoom = from === to ? undefined : zoomBetweenRows(moments, moments.indexOf(from), moments.indexOf(to));
    if (onNarrow !== undefined) onNarrow({ fromMs: Math.min(from, to), toMs: Math.max(from, to) });
    else if (zoom !== undefined) onZoom(zoom);
  };
  const turn = (event: KeyboardEvent): void => {
    // Keys with a modifier are left to the browser, for example for zooming the page.
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const here = view.first + (at ?? 0);
    const hereMs = moments[here];
    if (onNarrow !== undefined && event.key === "Enter" && hereMs !== undefined) {
      event.preventDefault();
      select(dragMs ?? hereMs, hereMs);
      return;
    }
    const act = findKeyAction(event.key, here, moments.length - 1);
    if (act === undefined || ("zoom" in act && onNarrow !== undefined)) return;
    event.preventDefault();
    if ("zoom" in act) {
      onZoom(act.zoom === "reset" ? undefined : scaleZoom(moments, view, here, act.zoom));
      return;
    }
    setAtMs(moments[act.move]);
    // With the shift key, the row where the selection began stays its other end.
    setDragMs(onNarrow !== undefined && event.shiftKey ? (dragMs ?? hereMs) : undefined);
    if (act.move < view.first || act.move > view.last) onZoom(moveZoom(moments, view, act.move));
  };
  return {
    at,
    dragged: placeOf(dragMs),
    handlers: {
      onPointerMove: (event: Pointing) => setAtMs(pointedAt(event)),
      onPointerDown(event: Pointing): void {
        setAtMs(pointedAt(event));
        // On touch screens, dragging does not zoom, it only shows values. Zooming is in the chart's menu.
        if ((event.pointerType === "touch" && onNarrow === undefined) || event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDragMs(pointedAt(event));
      },
      onPointerUp(event: Pointing): void {
        const [from, to] = [dragMs, pointedAt(event)];
        setDragMs(undefined);
        if (from !== undefined && to !== undefined) select(from, to);
      },
      onPointerCancel: () => setDragMs(undefined),
      onPointerLeave: () => setAtMs(undefined),
      onFocus: () => setAtMs((now) => now ?? moments[view.first]),
      onBlur(): void {
        setAtMs(undefined);
        setDragMs(undefined);
      },
      onKeyDown: turn,
    },
  };
}
