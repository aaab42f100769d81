/**
 * One number of decimals for all amounts of a page, a drawer or a dialog, so that `$0.0015683360` never stands beside `$0.001568336`: each
 * amount says how many it needs, and all are written with the largest number. It never shrinks, so that amounts do not jump back and forth.
 */
import { createContext, type ReactNode, useContext, useLayoutEffect, useMemo, useSyncExternalStore } from "react";
import { newPlaces, type Places } from "./places.ts";

const Shared = createContext<Places | undefined>(undefined);

/** `page`: begins anew with another one. */
export function SamePlaces({ page = "", children }: { page?: string; children: ReactNode }) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page has other amounts
  const places = useMemo(newPlaces, [page]);
  return <Shared value={places}>{children}</Shared>;
}

const ALONE = newPlaces();

/** The number of decimals of an amount that needs this many. */
export function usePlaces(needed: number): number {
  const places = useContext(Shared);
  // Before the browser paints, so that nobody sees an amount with fewer.
  useLayoutEffect(() => places?.need(needed), [places, needed]);
  const { subscribe, most } = places ?? ALONE;
  return Math.max(needed, useSyncExternalStore(subscribe, most));
}
