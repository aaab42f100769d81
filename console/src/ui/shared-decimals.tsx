/**
 * Shares one number of decimals among all amounts of a page, a drawer or a dialog, so that `$0.0015683360` is never
 * next to `$0.001568336`. Each amount registers how many decimals it needs, and all show the largest number. It never
 * decreases, so that amounts do not jump.
 */
import { createContext, type ReactNode, useContext, useLayoutEffect, useMemo, useSyncExternalStore } from "react";
import { type DecimalCount, newDecimalCount } from "./decimal-count.ts";

const Shared = createContext<DecimalCount | undefined>(undefined);

/** `page`: a change of page starts again with the fewest decimals. */
export function SharedDecimals({ page = "", children }: { page?: string; children: ReactNode }) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page has other amounts
  const places = useMemo(newDecimalCount, [page]);
  return <Shared value={places}>{children}</Shared>;
}

const ALONE = newDecimalCount();

/** Registers how many decimals an amount needs, and returns how many to show. */
export function useSharedDecimals(needed: number): number {
  const places = useContext(Shared);
  // A layout effect runs before the browser paints, so that no amount appears with too few decimals.
  useLayoutEffect(() => places?.need(needed), [places, needed]);
  const { subscribe, most } = places ?? ALONE;
  return Math.max(needed, useSyncExternalStore(subscribe, most));
}
