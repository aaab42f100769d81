/** Restarts both gateways one after the other under load, without client errors. */

import { REPOSITORY_ROOT } from "@tollgate/stage/gateway-process.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { waitUntilServing } from "./chaos-gateways.ts";
import type { Platform } from "./stage.ts";

/**
 * The time to wait after a gateway was taken out of the load balancer, which checks five times a second. By then,
 * requests sent to the gateway before have arrived.
 */
const TAKEN_OUT_MS = 1_500;

/**
 * Restarts gateways as systemd does: SIGTERM, then a new start. The load balancer learns of it only through `/readyz`.
 */
export async function restartGatewaysInTurn(stage: Platform): Promise<void> {
  for (const gateway of stage.gateways) {
    await gateway.end();
    await waitUntilServing(gateway);
    await untilWhole(stage);
  }
}

/**
 * Upgrades the gateways one after the other. Older versions may not report that they drain, so each is first taken out
 * of the load balancer, as an operator would do.
 */
export async function runRollingUpgrade(stage: Platform): Promise<void> {
  for (const gateway of stage.gateways) {
    gateway.isTakenOut = true;
    await new Promise((resolve) => setTimeout(resolve, TAKEN_OUT_MS));
    await gateway.end();
    gateway.setVersion(REPOSITORY_ROOT);
    await waitUntilServing(gateway);
    gateway.isTakenOut = false;
    await untilWhole(stage);
  }
  stage.root = REPOSITORY_ROOT;
}

function untilWhole(stage: Platform): Promise<unknown> {
  return eventually("the balancer sends to every gateway", async () => stage.isWhole());
}
