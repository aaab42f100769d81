/** Checks services of others: Stripe's webhook endpoint, and the OpenID providers with which people sign in. */
import { type CheckResult, failedCheck, passedCheck, warningCheck } from "@tollgate/terminal/check-results.ts";
import type { StripeEndpoint } from "../../payments/stripe-endpoints.ts";
import { type DoctorContext, describeError, type Finding, makeUnreachableFinding } from "./doctor-context.ts";

const SEE = "docs/operators/payments.md#sell-credits";
const [UNAUTHORIZED, FORBIDDEN] = [401, 403];

/** A starting gateway skips these checks, because it serves without these services. */
export async function* externalServiceChecks(examined: DoctorContext): AsyncGenerator<Finding> {
  if (examined.isStarting) return;
  yield* webhookChecks(examined);
  yield* openIdChecks(examined);
}

async function* webhookChecks({ config: { payments, publicUrl = "" } }: DoctorContext): AsyncGenerator<Finding> {
  if (payments === undefined) return;
  // Imported here, because Stripe's library is large.
  const { listStripeEndpoints } = await import("../../payments/stripe-endpoints.ts");
  const { EVENT_TYPES } = await import("../../payments/stripe-events.ts");
  try {
    const url = `${publicUrl.replace(/\/$/, "")}/webhooks/stripe`;
    yield stripeEndpointCheck(await listStripeEndpoints(payments), { url, events: EVENT_TYPES });
  } catch (error) {
    const { statusCode } = error as { statusCode?: number };
    if (statusCode === UNAUTHORIZED)
      yield failedCheck(
        "webhooks",
        "Stripe refuses STRIPE_SECRET_KEY",
        "set STRIPE_SECRET_KEY to a key from Stripe's dashboard",
      );
    else if (statusCode === FORBIDDEN)
      yield warningCheck(
        "webhooks",
        "STRIPE_SECRET_KEY may not read Stripe's webhook endpoints, so they are not checked",
        "give the restricted key the permission to read webhook endpoints",
      );
    else yield makeUnreachableFinding("webhooks", error, "check that this machine reaches Stripe's API");
  }
}

/** `url`: where this gateway receives events. `events`: the types that it needs. */
function stripeEndpointCheck(
  endpoints: StripeEndpoint[],
  { url, events }: { url: string; events: readonly string[] },
): CheckResult {
  const found = endpoints.filter((endpoint) => endpoint.url === url);
  const enabled = found.find(({ status }) => status === "enabled");
  if (enabled === undefined)
    return failedCheck(
      "webhooks",
      found.length === 0
        ? `Stripe has no webhook endpoint ${url}, so purchases are not credited`
        : `Stripe has disabled the webhook endpoint ${url}, so purchases are not credited`,
      `create or enable the endpoint in Stripe's dashboard, and set STRIPE_WEBHOOK_SECRET to its secret (${SEE})`,
    );
  const missing = enabled.events.includes("*") ? [] : events.filter((type) => !enabled.events.includes(type));
  if (missing.length > 0)
    return failedCheck(
      "webhooks",
      `Stripe's webhook endpoint ${url} lacks the events ${missing.join(", ")}`,
      `add these events to the endpoint in Stripe's dashboard (${SEE})`,
    );
  return passedCheck(
    "webhooks",
    `Stripe sends all needed events to ${url}; only its dashboard shows the signing secret, so it is not checked`,
  );
}

async function* openIdChecks({ config: { oidcProviders } }: DoctorContext): AsyncGenerator<CheckResult> {
  if (oidcProviders.length === 0) return;
  const { discoverProvider } = await import("../../accounts/oidc-calls.ts");
  for (const { id, issuer } of oidcProviders) {
    yield await discoverProvider(issuer).then(
      () => passedCheck("openid", `provider ${id}: ${issuer} answers and names itself as the issuer`),
      (error) =>
        failedCheck(
          "openid",
          `provider ${id}: ${describeError(error)}`,
          "set issuer in OIDC_PROVIDERS to the provider's issuer, and check that this machine reaches the provider",
        ),
    );
  }
}
