/** A hook for whether the gateway responds. */
import { useSyncExternalStore } from "react";
import { gatewayReachability } from "../api/gateway.ts";
import type { Outage } from "../api/reachability.ts";

/** The start of the current outage and the age of the page's data; undefined while the gateway responds. */
export const useOutage = (): Outage | undefined =>
  useSyncExternalStore(gatewayReachability.subscribe, gatewayReachability.current);
