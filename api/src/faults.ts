/**
 * The one error catalogue: everything the gateway refuses or fails with, its status, whether a client should try again,
 * and the text a person reads. Clients branch on `code`; the text may change.
 */

/** `later`: safe and sensible to repeat. `never`: it cannot help, or would be billed again. `unsaid`: as the client likes. */
export type Retry = "never" | "later" | "unsaid";

interface FaultSpec {
  status: number;
  retry: Retry;
  text: string;
}

export const faults = {
  invalid_api_key: {
    status: 401,
    retry: "never",
    text: "Missing, malformed, unknown or revoked API key. Send it as: Authorization: Bearer tsk_live_…",
  },
  insufficient_credits: {
    status: 402,
    retry: "never",
    text: "Your balance is used up. Add credits to go on.",
  },
  hold_exceeds_balance: {
    status: 402,
    retry: "never",
    text: "This request needs a larger reservation than your balance. Lower max_tokens or add credits.",
  },
  model_not_found: {
    status: 404,
    retry: "never",
    text: "No such model for this endpoint. GET /v1/models lists what can be called.",
  },
  request_too_large: { status: 413, retry: "never", text: "The request body exceeds 10 MiB." },
  rate_limit_requests: { status: 429, retry: "later", text: "Too many requests this minute on this key." },
  rate_limit_tokens: { status: 429, retry: "later", text: "This key's token budget for this minute is spent." },
  rate_limit_streams: { status: 429, retry: "later", text: "Too many requests in flight on this key." },
  rate_limit_sku_capacity: {
    status: 429,
    retry: "later",
    text: "The platform is at its ceiling for this model. Try again in a second, or use another model.",
  },
  internal_error: { status: 500, retry: "never", text: "Something went wrong on our side." },
  upstream_failed: {
    status: 502,
    retry: "never",
    text: "The node that served this request could not finish it. The prompt and what was generated are billed.",
  },
  upstream_stall: {
    status: 502,
    retry: "never",
    text: "The node that served this request went quiet. What was generated, with its prompt, is billed; nothing if nothing was.",
  },
  no_capacity: {
    status: 503,
    retry: "later",
    text: "No node could take this request in time. Nothing was billed; it is safe to try again.",
  },
  not_authenticated: { status: 401, retry: "never", text: "Sign in first." },
  no_account: { status: 403, retry: "never", text: "You are signed in, but you have no account yet." },
  account_suspended: { status: 403, retry: "never", text: "Your account is suspended." },
  member_only: { status: 403, retry: "never", text: "This needs a builder account, and this sign-in has none." },
  role_required: { status: 403, retry: "never", text: "Your role in this account does not allow this." },
  invitation_not_yours: {
    status: 403,
    retry: "never",
    text: "This invitation is for another e-mail address. Sign in with the one that it was sent to.",
  },
  already_in_team: {
    status: 409,
    retry: "never",
    text: "Somebody with this e-mail address is in the team already. Change their role instead.",
  },
  last_owner: {
    status: 409,
    retry: "never",
    text: "An account keeps at least one owner, and this is the only one. Invite another owner first.",
  },
  account_owes: {
    status: 409,
    retry: "never",
    text: "The account's balance is below zero. Nobody stops being its owner until that is paid.",
  },
  cross_site_blocked: {
    status: 403,
    retry: "never",
    text: "This request came from another site. Send it from the console itself.",
  },
  email_not_verified: {
    status: 403,
    retry: "never",
    text: "Confirm your e-mail address first, by the link that was sent to it.",
  },
  sign_in_provider_unavailable: {
    status: 502,
    retry: "later",
    text: "The sign-in provider does not answer. Try again, or sign in another way.",
  },
  host_only: { status: 403, retry: "never", text: "This needs a host account, and this sign-in has none." },
  operator_only: { status: 403, retry: "never", text: "This is for operators of the platform." },
  limit_reached: { status: 409, retry: "never", text: "There are as many of these as there may be." },
  nothing_owed: {
    status: 409,
    retry: "never",
    text: "No host is owed as much, beyond what open payouts promise and what is held back.",
  },
  payout_exceeds_balance: {
    status: 409,
    retry: "never",
    text: "A host has less than this payout promises it. Nothing was booked, and the payout stays open.",
  },
  too_many_viewers: { status: 429, retry: "later", text: "Too many pages of this account are open." },
  invalid_cursor: { status: 400, retry: "never", text: "The cursor is not one that this list gave out." },
  unknown_model: { status: 422, retry: "never", text: "The filter names a model that is not in the catalogue." },
  unknown_outcome: {
    status: 422,
    retry: "never",
    text: "The filter names an outcome that no request can have.",
  },
  not_found: { status: 404, retry: "never", text: "There is nothing of yours by that id." },
  billing_disabled: { status: 404, retry: "never", text: "Credits cannot be bought on this deployment." },
  not_a_builder: { status: 403, retry: "never", text: "Only a builder account buys credits, and this is a host's." },
  unknown_pack: { status: 422, retry: "never", text: "No such pack. GET /console/api/packs lists what is offered." },
  payment_provider_unavailable: {
    status: 502,
    retry: "later",
    text: "The payment provider did not start a checkout. Nothing was charged.",
  },
  no_payment_method: {
    status: 409,
    retry: "never",
    text: "No card is saved for this account. Save one first.",
  },
  invalid_signature: { status: 400, retry: "never", text: "The webhook's signature does not verify." },
  invalid_host_token: {
    status: 401,
    retry: "never",
    text: "Missing, malformed, unknown or revoked host token. Send it as: Authorization: Bearer tht_live_…",
  },
  node_not_found: { status: 404, retry: "never", text: "No such node." },
  node_quarantined: {
    status: 409,
    retry: "never",
    text: "The node is quarantined. An operator has to release it first.",
  },
  node_state_conflict: { status: 409, retry: "never", text: "The node's state does not allow this." },
  node_name_taken: { status: 409, retry: "never", text: "Another node of the account has this name." },
  too_many_nodes: {
    status: 409,
    retry: "never",
    text: "A host account has at most 100 nodes that are not retired, and this one has as many.",
  },
  no_elected_builds: { status: 409, retry: "never", text: "The node has elected no model yet." },
  not_implemented: { status: 501, retry: "never", text: "This platform has no dispatch plane configured." },
  dispatch_admin_error: {
    status: 502,
    retry: "later",
    text: "The dispatch plane refused to issue credentials.",
  },
} as const satisfies Record<string, FaultSpec>;

export type FaultCode = keyof typeof faults;

/** One way in which a route refuses, as a client is told of it. */
export interface Refusal<Code extends FaultCode | undefined = FaultCode | undefined> {
  status: number;
  retry: Retry;
  /** Equal to the code where there is one. */
  type: string;
  /** The stable contract; undefined where there is none. */
  code: Code;
  message: string;
  extra: Record<string, unknown>;
}

/** A fault of the catalogue, in its own words or in those of a route. */
export function refusal<const Code extends FaultCode>(
  code: Code,
  message?: string,
  extra: Record<string, unknown> = {},
): Refusal<Code> {
  const { status, retry, text }: FaultSpec = faults[code];
  return { status, retry, type: code, code, message: message ?? text, extra };
}

export const codes = <const Code extends FaultCode>(...list: Code[]): Refusal<Code>[] =>
  list.map((code) => refusal(code));

/** Of a request, whoever asks for it: the builder who made it or the host who served it. */
export const NO_SUCH_REQUEST = refusal("not_found", "No such request in your history.");

/** 400: names the field, parameter or header and the rule it broke. */
export function wrongField(param: string | null, message: string): Refusal<undefined> {
  const extra = param === null ? {} : { param };
  return { status: 400, retry: "never", type: "invalid_request_error", code: undefined, message, extra };
}

/** 404 of what is no thing of anybody's: a path, a feature that is off. */
export function noSuchPath(message: string): Refusal<undefined> {
  return { status: 404, retry: "never", type: "not_found_error", code: undefined, message, extra: {} };
}

export function compressedBody(encoding: string, header = "content-encoding"): Refusal<undefined> {
  const message = `The body must not be compressed (${header}: ${encoding.slice(0, 40)}).`;
  return { status: 415, retry: "never", type: "invalid_request_error", code: undefined, message, extra: {} };
}

export interface FaultBody {
  error: Record<string, unknown> & { message: string; type: string; code?: string; param?: string };
}

/** The envelope of every error. */
export function envelopeOf({ code, type, message, extra }: Refusal): FaultBody {
  return { error: { message, type, ...(code !== undefined && { code }), ...extra } };
}
