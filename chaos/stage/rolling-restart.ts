/** Restarts both gateways one after the other under load, without any client error. */

import { ROOT } from "@tollgate/stage/gateway-process.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { untilServing } from "./gateway.ts";
import type { Platform } from "./stage.ts";

/** The balancer checks five times a second; after this time, requests that it sent before have arrived. */
const TAKEN_OUT_MS = 1_500;

/** Restarts gateways as systemd does: SIGTERM, then a new start. The balancer only learns of it from `/readyz`. */
export async function rollingRestart(stage: Platform): Promise<void> {
  for (const gateway of stage.gateways) {
    await gateway.end();
    await untilServing(gateway);
    await untilWhole(stage);
  }
}

/** Gateways of an older version may not report that they drain, so an operator takes each out of the balancer first. */
export async function rollingUpgrade(stage: Platform): Promise<void> {
  for (const gateway of stage.gateways) {
    gateway.isTakenOut = true;
    await new Promise((resolve) => setTimeout(resolve, TAKEN_OUT_MS));
    await gateway.end();
    gateway.setVersion(ROOT);
    await untilServing(gateway);
    gateway.isTakenOut = false;
    await untilWhole(stage);
  }
  stage.root = ROOT;
}

function untilWhole(stage: Platform): Promise<unknown> {
  return eventually("the balancer sends to every gateway", async () => stage.isWhole());
}
