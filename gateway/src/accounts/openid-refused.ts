/** The reason for refusing an OpenID sign-in: an error code for the person, and a sentence for the log. */
import type { OpenIdRefusal } from "@tollgate/api/console/openid-refusals.ts";
import type { Log } from "../base/log.ts";

/**
 * The error of a refused OpenID sign-in. Its message is logged, so it contains no token, no secret, and no free text
 * from the person or the provider.
 */
export class OpenIdRefused extends Error {
  override name = "OpenIdRefused";
  readonly outcome: OpenIdRefusal;

  constructor(outcome: OpenIdRefusal, reason: string, cause?: unknown) {
    super(reason, { cause });
    this.outcome = outcome;
  }
}

/** Refusals that people cause in normal use. Others need an operator. */
const ORDINARY: ReadonlySet<OpenIdRefusal> = new Set(["account_not_linked", "provider_refused", "expired"]);

export function logOpenIdRefusal(log: Log, told: { provider: string; outcome: OpenIdRefusal; reason: string }): void {
  log[ORDINARY.has(told.outcome) ? "info" : "warn"](told, "OpenID sign-in refused");
}
