/** Settings for engines that use the Hugging Face hub: they must neither contact it nor use the user's downloads. */
import { join } from "node:path";
import { ENGINE_CACHE_DIRECTORY } from "../install/cache.ts";

export const HUB_SETTINGS = {
  HF_HOME: join(ENGINE_CACHE_DIRECTORY, "hub"),
  HF_HUB_OFFLINE: "1",
  HF_HUB_DISABLE_TELEMETRY: "1",
  DO_NOT_TRACK: "1",
};
