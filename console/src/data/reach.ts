/** A hook for whether the gateway responds. */
import { useSyncExternalStore } from "react";
import { reach } from "../api/gateway.ts";
import type { Away } from "../api/reach.ts";

/** The start of the current outage and the age of the page's data; undefined while the gateway responds. */
export const useOutage = (): Away | undefined => useSyncExternalStore(reach.subscribe, reach.current);
