/**
 * Loaded into a gateway before its own code, for a run that wants every frame to be looked at: with the bounds in place a
 * node is cut off after its first malformed frames, and the rest would never reach what is to be fuzzed. What the bounds do
 * is tested in gateway/src/dispatch and in ../../hostile/floods.test.ts.
 */
import { FRAME_RATES } from "../../../gateway/src/dispatch/frame-rates.ts";
import { HUB_LIMITS, type HubLimits } from "../../../gateway/src/plane/hub/limits.ts";

for (const rate of Object.values(FRAME_RATES)) Object.assign(rate, { perSecond: 1e9, burst: 1e9 });
const lifted: Partial<HubLimits> = { connectsPerSecondMax: 1e9 };
Object.assign(HUB_LIMITS, lifted);
