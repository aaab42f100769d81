/** For tests: a server with the reference, and what its doors need. */
import Fastify, { type FastifyInstance } from "fastify";
import { systemClock } from "../../../base/clock.ts";
import { newIds } from "../../../base/ids.ts";
import { createLog } from "../../../base/log.ts";
import { systemRandom } from "../../../base/random.ts";
import type { DoorOptions } from "../../door.ts";
import { testBodies } from "../../testing/door.ts";

export const door: DoorOptions = {
  clock: systemClock,
  newId: newIds(systemClock, systemRandom()),
  log: createLog("silent"),
  bodies: testBodies(),
};

/** As the gateway's own server: it answers HEAD by itself nowhere. */
export function bareApp(): FastifyInstance {
  return Fastify({ logger: false, exposeHeadRoutes: false });
}
