/** The plane of a gateway that has none: it serves only the console and the ledger, and no node ever connects. */
import { createReachableDependency } from "../base/dependency.ts";
import type { DispatchPlane } from "./plane.ts";

export function createAbsentPlane(): DispatchPlane {
  return {
    health: createReachableDependency("plane"),
    publish() {},
    subscribe: () => () => {},
    hears: true,
    onNodeGone() {},
    onAway() {},
    onBack() {},
    movedAt: () => undefined,
    movedFrom: () => undefined,
    answers: () => true,
    reaches: () => true,
    whenProven: (_nodeId, told) => told(true),
    mint: () => Promise.reject(new Error("this gateway has no dispatch plane (message server for nodes)")),
    async revoke() {},
    async refuseNewConnections() {},
    async cut() {},
    async close() {},
  };
}
