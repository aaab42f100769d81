/** A hook that selects rows and zooms, with the pointer and the keyboard. */
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
}

type Pointing = PointerEvent<SVGSVGElement>;

export function useRowSelection({ moments, view, middles, onZoom }: Parts) {
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
  const turn = (event: KeyboardEvent): void => {
    // Keys with a modifier are left to the browser, for example for zooming the page.
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const here = view.first + (at ?? 0);
    const act = findKeyAction(event.key, here, moments.length - 1);
    if (act === undefined) return;
    event.preventDefault();
    if ("zoom" in act) {
      onZoom(act.zoom === "reset" ? undefined : scaleZoom(moments, view, here, act.zoom));
      return;
    }
    setAtMs(moments[act.move]);
    if (act.move < view.first || act.move > view.last) onZoom(moveZoom(moments, view, act.move));
  };
  return {
    at,
    dragged: placeOf(dragMs),
    handlers: {
      onPointerMove: (event: Pointing) => setAtMs(pointedAt(event)),
      onPointerDown(event: Pointing): void {
        setAtMs(pointedAt(event));
        // On touch screens, dragging only shows values. Zooming is in the chart's menu.
        if (event.pointerType === "touch" || event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDragMs(pointedAt(event));
      },
      onPointerUp(event: Pointing): void {
        const [from, to] = [dragMs, pointedAt(event)];
        setDragMs(undefined);
        if (from === undefined || to === undefined || from === to) return;
        const zoom = zoomBetweenRows(moments, moments.indexOf(from), moments.indexOf(to));
        if (zoom !== undefined) onZoom(zoom);
      },
      onPointerCancel: () => setDragMs(undefined),
      onPointerLeave: () => setAtMs(undefined),
      onFocus: () => setAtMs((now) => now ?? moments[view.first]),
      onBlur: () => setAtMs(undefined),
      onKeyDown: turn,
    },
  };
}
