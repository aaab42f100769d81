/**
 * Shares one number of decimals among all amounts of a page, a drawer or a dialog, so that `$0.0015683360` is never
 * next to `$0.001568336`. Each amount registers how many decimals it needs, and all show the largest number. It never
 * decreases, so that amounts do not jump.
 */
import { createContext, type ReactNode, useContext, useLayoutEffect, useMemo, useSyncExternalStore } from "react";
import { createDecimalPlacesTracker, type DecimalPlacesTracker } from "./decimal-places-tracker.ts";

const Shared = createContext<DecimalPlacesTracker | undefined>(undefined);

/** `page`: a change of page starts again with the fewest decimals. */
export function SharedDecimalPlaces({ page = "", children }: { page?: string; children: ReactNode }) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page has other amounts
  const places = useMemo(createDecimalPlacesTracker, [page]);
  return <Shared value={places}>{children}</Shared>;
}

const ALONE = createDecimalPlacesTracker();

/** Registers how many decimals an amount needs, and returns how many to show. */
export function useSharedDecimalPlaces(needed: number): number {
  const places = useContext(Shared);
  // A layout effect runs before the browser paints, so that no amount appears with too few decimals.
  useLayoutEffect(() => places?.need(needed), [places, needed]);
  const { subscribe, most } = places ?? ALONE;
  return Math.max(needed, useSyncExternalStore(subscribe, most));
}
