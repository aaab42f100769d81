/** Opens the plane on NATS servers for one command and closes it afterwards. */
import type { Clock } from "../base/clock.ts";
import { type NewId, publicIdSuffix } from "../base/ids.ts";
import { createErrorLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import type { Config } from "../config.ts";
import type { DispatchPlane, PlaneOwnership } from "../plane/plane.ts";

interface UsedPlane {
  plane: DispatchPlane;
  ownership: PlaneOwnership;
  isAway: boolean;
  gatewayId: string;
}

export async function withPlane<T>(
  { config, newId, clock }: { config: Config; newId: NewId; clock: Clock },
  use: (plane: UsedPlane) => Promise<T>,
): Promise<T> {
  const { nats } = config.plane;
  if (nats === undefined) throw new Error("NATS_URL is not set: this command needs the plane's NATS servers");
  const gatewayId = publicIdSuffix(newId());
  const { openNatsPlane } = await import("../plane/nats/nats-plane.ts");
  const { pickPlaneSigningKeys: planeSigningKeys } = await import("../build/open-plane.ts");
  const plane = await openNatsPlane({
    ...nats,
    ...planeSigningKeys(config.plane),
    gatewayId,
    clock,
    random: systemRandom(),
    log: createErrorLog("silent"),
  });
  try {
    const { ownership, health } = plane;
    if (ownership === undefined) throw new Error("no deployment has used this dispatch plane yet");
    return await use({ plane, ownership, isAway: health.isAway, gatewayId });
  } finally {
    await plane.close();
  }
}
