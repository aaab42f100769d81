import assert from "node:assert/strict";
import { test } from "node:test";
import type { Balancer } from "@tollgate/stage/load-balancer.ts";
import { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import type { Gateway } from "./chaos-gateways.ts";
import { chooseRequestPort } from "./request-port.ts";

const REQUESTS = 200;

/** The ports that requests go to, with a balancer at 1 and gateways at 2 and 3. */
function portsOf({ ready, stopped }: { ready: number; stopped: number[] }): number[] {
  const balancer = { port: 1, ready: () => ready } as Balancer;
  const gateways = [2, 3].map((port) => ({ port, isStopped: stopped.includes(port) }) as Gateway);
  const chance = new SeededRandom("request port");
  const ports = Array.from({ length: REQUESTS }, () => chooseRequestPort({ balancer, gateways }, chance));
  return [...new Set(ports)].sort();
}

test("requests go to the load balancer while a gateway is ready, and else to gateways too, but not to stopped ones", () => {
  assert.deepEqual(portsOf({ ready: 1, stopped: [] }), [1]);
  assert.deepEqual(portsOf({ ready: 0, stopped: [] }), [1, 2, 3]);
  assert.deepEqual(portsOf({ ready: 0, stopped: [2] }), [1, 3]);
  assert.deepEqual(portsOf({ ready: 0, stopped: [2, 3] }), [1]);
});
