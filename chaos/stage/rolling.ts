/** Both gateways stopped and started, one after the other, under load: nobody notices. */
import { until } from "../parts/processes.ts";
import { type Gateway, isReady, ROOT } from "./gateway.ts";
import type { Stage } from "./stage.ts";

const READY_MS_MAX = 90_000;
/** The balancer looks five times a second, and what it sent before has arrived. */
const TAKEN_OUT_MS = 1_500;

/** As systemd does it: SIGTERM, and start again. The balancer learns of it from `/readyz` alone. */
export async function rollingRestart(stage: Stage): Promise<void> {
  for (const gateway of stage.gateways) {
    await gateway.end();
    await gateway.start();
    await untilServing(stage, gateway);
  }
}

/** Gateways of the release before do not say that they are draining: an operator takes each out of the balancer first. */
export async function rollingUpgrade(stage: Stage): Promise<void> {
  for (const gateway of stage.gateways) {
    gateway.isTakenOut = true;
    await new Promise((resolve) => setTimeout(resolve, TAKEN_OUT_MS));
    await gateway.end();
    gateway.setVersion(ROOT);
    await gateway.start();
    await until(`${gateway.name} is ready`, READY_MS_MAX, () => isReady(gateway));
    gateway.isTakenOut = false;
    await untilServing(stage, gateway);
  }
  stage.root = ROOT;
}

async function untilServing(stage: Stage, gateway: Gateway): Promise<void> {
  await until(`${gateway.name} is ready`, READY_MS_MAX, () => isReady(gateway));
  await until("every gateway takes requests", READY_MS_MAX, async () => stage.isWhole());
}
