/**
 * Lifts the limits on malformed frames: without limits, a node is not disconnected after a few malformed frames, and
 * every frame of a run is parsed. Loaded into a gateway before its own code. The limits are tested in
 * gateway/src/dispatch and in ../../hostile/floods.test.ts.
 */
import { FRAME_RATES } from "../../../gateway/src/dispatch/frame-rates.ts";
import { HUB_LIMITS, type HubLimits } from "../../../gateway/src/plane/hub/hub-limits.ts";

for (const rate of Object.values(FRAME_RATES)) Object.assign(rate, { perSecond: 1e9, burst: 1e9 });
const lifted: Partial<HubLimits> = { connectsPerSecondMax: 1e9 };
Object.assign(HUB_LIMITS, lifted);
