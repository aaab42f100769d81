/** Reports which steps of the platform's setup are done, as far as the gateway can detect them. */
import { CONFIRMED_SETUP_STEPS, type setupRoutes } from "@tollgate/api/console/operator-setup.ts";
import type { SignedInPerson } from "../../../accounts/identities.ts";
import type { AccountServices } from "../../../accounts/services.ts";
import type { Handlers } from "../../../http/serve-routes.ts";
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
  identities: { preferences },
  now,
}: Pick<SiteServices, "publicUrl" | "certificate" | "now"> &
  Pick<AccountServices, "identities"> &
  Pick<NotificationServices, "sendsMail"> &
  Pick<PaymentServices, "payments"> &
  Pick<OperatorServices, "overview">): Handlers<typeof setupRoutes> {
  const setupOf = async ({ identityId }: SignedInPerson) => {
    const [operators, ticks] = await Promise.all([overview.operators(), preferences.setupTicks(identityId)]);
    return {
      object: "setup" as const,
      as_of: Math.floor(now() / 1000),
      steps: [
        { step: "tls" as const, done: certificate !== undefined || publicUrl?.startsWith("https:") === true },
        { step: "email" as const, done: sendsMail },
        { step: "payments" as const, done: payments !== undefined },
        { step: "second_operator" as const, done: operators > 1 },
      ],
      ticked: CONFIRMED_SETUP_STEPS.filter((step) => ticks.includes(step)),
    };
  };
  return {
    getSetup: ({ who }) => setupOf(who),
    async tickSetup({ who, body }) {
      await preferences.tickSetup(who.identityId, body().ticked);
      return setupOf(who);
    },
  };
}
