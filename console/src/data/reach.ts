/** Whether the gateway answers, for components. */
import { useSyncExternalStore } from "react";
import { reach } from "../api/gateway.ts";
import type { Away } from "../api/reach.ts";

/** Since when the gateway does not answer, and how old the page's data is; undefined while it answers. */
export const useOutage = (): Away | undefined => useSyncExternalStore(reach.subscribe, reach.current);
