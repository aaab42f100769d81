/** Chooses where a client sends its request: to the load balancer or, while no gateway is ready, to a gateway. */
import type { Balancer } from "@tollgate/stage/load-balancer.ts";
import type { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import type { Gateway } from "./chaos-gateways.ts";

/**
 * If no gateway is ready, every second request goes directly to a gateway, so that the gateways' own errors are tested
 * too. Some real load balancers do that. Gateways that were stopped on purpose get none: nothing listens on their
 * ports, and operators take them out of such balancers.
 */
export function chooseRequestPort(
  { balancer, gateways }: { balancer: Balancer; gateways: readonly Gateway[] },
  chance: SeededRandom,
): number {
  if (balancer.ready() > 0 || chance.next() < 0.5) return balancer.port;
  const running = gateways.filter(({ isStopped }) => !isStopped);
  return running.length === 0 ? balancer.port : chance.pick(running).port;
}
