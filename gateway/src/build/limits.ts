/** Limits: counted in memory, or on a Valkey server that gateways share. */
import type { Ports } from "../assemble/ports.ts";
import { localWhenAway } from "../limits/local-when-away.ts";
import { memoryLimits } from "../limits/memory.ts";
import type { BuildContext } from "./context.ts";

export const limitsOf =
  ({ config, clock, log }: BuildContext): Ports["limits"] =>
  async ({ gateways, unavailable }) => {
    const { valkeyUrl: url, limitsWhenAway: whenAway } = config;
    if (url === undefined) return memoryLimits({ clock });
    const { valkeyLimits } = await import("../limits/valkey.ts");
    const shared = await valkeyLimits({ url, clock, log: log.child({ whenAway }), unavailable });
    return whenAway === "local" ? localWhenAway({ shared, clock, gateways }) : shared;
  };
