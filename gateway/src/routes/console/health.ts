/** Lists unreachable dependencies by the state that each connection last recorded, without a query. */
import type { healthRoutes } from "@tollgate/api/console/health.ts";
import type { Handlers } from "../../http/serve-routes.ts";
import type { SiteServices } from "../services.ts";

export function healthHandlers({ outages, now }: Pick<SiteServices, "outages" | "now">): Handlers<typeof healthRoutes> {
  return {
    async getHealth() {
      return {
        object: "health",
        as_of: Math.floor(now() / 1000),
        unreachable: outages
          .now()
          .map(({ part, since, isNeeded }) => ({ part, since: Math.floor(since / 1000), needed: isNeeded })),
      };
    },
  };
}
