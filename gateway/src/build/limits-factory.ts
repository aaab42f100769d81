/** Chooses where limits are counted: in this process, in the primary process, or on a shared Valkey server. */
import type { ExternalInterfaces } from "../assemble/port-interfaces.ts";
import { openMemoryLimits } from "../limits/in-memory-limits.ts";
import { limitsWithLocalFallback } from "../limits/local-fallback.ts";
import type { BuildContext } from "./build-context.ts";

/** `nowMs`: replaces the Valkey server's clock in tests. */
export const createLimitsFactory =
  ({ config, clock, log, worker }: BuildContext, nowMs?: () => number): ExternalInterfaces["limits"] =>
  async ({ gateways, unavailable }) => {
    const { valkeyUrl: url, limitsWhenAway: whenAway } = config;
    if (url === undefined) return worker?.limits ?? openMemoryLimits({ clock });
    const { openValkeyLimits: valkeyLimits } = await import("../limits/valkey-limits.ts");
    const shared = await valkeyLimits({
      url,
      clock,
      log: log.child({ whenAway }),
      unavailable,
      ...(nowMs && { nowMs }),
    });
    return whenAway === "local" ? limitsWithLocalFallback({ shared, clock, gateways }) : shared;
  };
