/** The playground's API key: one per session and account, so that the person need not create one. */
import type { playgroundRoutes } from "@tollgate/api/console/playground.ts";
import { publicId } from "../../base/ids.ts";
import { toUnixSeconds } from "../../base/time.ts";
import type { Handlers } from "../../http/serve-routes.ts";
import type { KeyServices } from "../../keys/services.ts";

export function playgroundHandlers({
  sessionKeys,
}: Pick<KeyServices, "sessionKeys">): Handlers<typeof playgroundRoutes> {
  return {
    async issuePlaygroundKey({ account, who, refuse }) {
      const issued = await sessionKeys.issue({ accountId: account.id, sessionId: who.sessionId });
      // The session ended after the guard had checked it.
      if (issued === undefined) throw refuse("not_authenticated");
      return {
        id: publicId("key", issued.id),
        object: "playground_key",
        secret: issued.token,
        expires_at: toUnixSeconds(issued.expiresAt),
      };
    },
  };
}
