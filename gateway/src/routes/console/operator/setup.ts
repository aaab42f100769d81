/** Reports which steps of the platform's setup are done, as far as the gateway can detect them. */
import type { setupRoutes } from "@tollgate/api/console/operator-setup.ts";
import type { Handlers } from "../../../http/routes.ts";
import type { NotificationParts } from "../../../notifications/parts.ts";
import type { OperatorParts } from "../../../operators/parts.ts";
import type { PaymentParts } from "../../../payments/parts.ts";
import type { SiteParts } from "../../parts.ts";

export function setupHandlers({
  publicUrl,
  certificate,
  sendsMail,
  payments,
  overview,
  now,
}: Pick<SiteParts, "publicUrl" | "certificate" | "now"> &
  Pick<NotificationParts, "sendsMail"> &
  Pick<PaymentParts, "payments"> &
  Pick<OperatorParts, "overview">): Handlers<typeof setupRoutes> {
  return {
    async getSetup() {
      const operators = await overview.operators();
      return {
        object: "setup",
        as_of: Math.floor(now() / 1000),
        steps: [
          { step: "tls", done: certificate !== undefined || publicUrl?.startsWith("https:") === true },
          { step: "email", done: sendsMail },
          { step: "payments", done: payments !== undefined },
          { step: "second_operator", done: operators > 1 },
        ],
      };
    },
  };
}
