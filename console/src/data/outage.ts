/** A hook for whether the gateway responds. */
import { useSyncExternalStore } from "react";
import type { Outage } from "../api/gateway-reachability.ts";
import { gatewayReachability } from "../api/gateway-requests.ts";

/** The start of the current outage and the age of the page's data; undefined while the gateway responds. */
export const useOutage = (): Outage | undefined =>
  useSyncExternalStore(gatewayReachability.subscribe, gatewayReachability.current);
