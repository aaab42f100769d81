/** Reports which steps of the platform's setup are done, as far as the gateway can detect them. */
import type { setupRoutes } from "@tollgate/api/console/operator-setup.ts";
import type { Handlers } from "../../../http/routes.ts";
import type { NotificationServices } from "../../../notifications/services.ts";
import type { OperatorServices } from "../../../operators/services.ts";
import type { PaymentServices } from "../../../payments/services.ts";
import type { SiteServices } from "../../services.ts";

export function platformSetupHandlers({
  publicUrl,
  certificate,
  sendsMail,
  payments,
  overview,
  now,
}: Pick<SiteServices, "publicUrl" | "certificate" | "now"> &
  Pick<NotificationServices, "sendsMail"> &
  Pick<PaymentServices, "payments"> &
  Pick<OperatorServices, "overview">): Handlers<typeof setupRoutes> {
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
