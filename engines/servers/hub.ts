/** Engines that know the model hub: none of them may look there, or at what a person has downloaded. */
import { join } from "node:path";
import { CACHE } from "../install/cache.ts";

export const HUB_SETTINGS = {
  HF_HOME: join(CACHE, "hub"),
  HF_HUB_OFFLINE: "1",
  HF_HUB_DISABLE_TELEMETRY: "1",
  DO_NOT_TRACK: "1",
};
