/** Why an OpenID sign-in was refused: an error code for the person and a sentence for the log. */
import type { OpenIdRefusal } from "@tollgate/api/console/openid.ts";
import type { Log } from "../base/log.ts";

/** Its message is the sentence: no token, no secret, nothing that the person or the provider wrote freely. */
export class OpenIdRefused extends Error {
  override name = "OpenIdRefused";
  readonly outcome: OpenIdRefusal;

  constructor(outcome: OpenIdRefusal, reason: string, cause?: unknown) {
    super(reason, { cause });
    this.outcome = outcome;
  }
}

/** What people do in the ordinary course of things; anything else is for an operator to look at. */
const ORDINARY: ReadonlySet<OpenIdRefusal> = new Set(["account_not_linked", "provider_refused", "expired"]);

export function logRefused(log: Log, told: { provider: string; outcome: OpenIdRefusal; reason: string }): void {
  log[ORDINARY.has(told.outcome) ? "info" : "warn"](told, "OpenID sign-in refused");
}
