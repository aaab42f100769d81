/**
 * The catalogue of all errors: each code with its status, its message, and whether a retry may help. Clients depend on
 * `code`; messages may change.
 */

/**
 * `later`: a retry is safe and may succeed. `never`: a retry cannot succeed, or would be billed again. `unsaid`: the
 * error does not say, and clients decide.
 */
export type RetryAdvice = "never" | "later" | "unsaid";

interface FaultSpec {
  status: number;
  retry: RetryAdvice;
  text: string;
}

export const faults = {
  invalid_api_key: {
    status: 401,
    retry: "never",
    text: "The API key is missing, malformed, unknown or revoked. Send it in the header: Authorization: Bearer tsk_live_…",
  },
  insufficient_credits: {
    status: 402,
    retry: "never",
    text: "Your balance is used up. Add credits to continue.",
  },
  hold_exceeds_balance: {
    status: 402,
    retry: "never",
    text: "This request needs a hold larger than your available balance. Lower max_tokens or add credits.",
  },
  model_not_found: {
    status: 404,
    retry: "never",
    text: "This model does not exist, or cannot be used here. GET /v1/models lists the available models.",
  },
  request_too_large: { status: 413, retry: "never", text: "The request body is larger than 10 MiB." },
  rate_limit_requests: {
    status: 429,
    retry: "later",
    text: "Rate limit reached: this API key has reached its limit of requests per minute. Retry after the number of seconds in the retry-after header.",
  },
  rate_limit_tokens: {
    status: 429,
    retry: "later",
    text: "Rate limit reached: this API key has reached its limit of tokens per minute. Retry after the number of seconds in the retry-after header.",
  },
  rate_limit_streams: {
    status: 429,
    retry: "later",
    text: "Rate limit reached: this API key has too many requests in flight. Retry when one of them has finished.",
  },
  rate_limit_sku_capacity: {
    status: 429,
    retry: "later",
    text: "The platform's limit of concurrent requests for this model is reached. Retry in a second, or use another model.",
  },
  internal_error: { status: 500, retry: "never", text: "Internal error on the gateway." },
  upstream_failed: {
    status: 502,
    retry: "never",
    text: "The node that served this request failed. The prompt and the output so far are billed.",
  },
  upstream_stall: {
    status: 502,
    retry: "never",
    text: "The node that served this request stopped responding. The prompt and the output so far are billed; without output, nothing is billed.",
  },
  no_capacity: {
    status: 503,
    retry: "later",
    text: "No node accepted this request in time. Nothing was billed; it is safe to retry.",
  },
  not_authenticated: { status: 401, retry: "never", text: "You are not signed in. Sign in first." },
  no_account: { status: 403, retry: "never", text: "You have no account yet. Create one in the console." },
  account_suspended: {
    status: 403,
    retry: "never",
    text: "Your account is suspended. Contact the operator of this platform.",
  },
  member_only: { status: 403, retry: "never", text: "This request needs a builder account, and you have none." },
  role_required: { status: 403, retry: "never", text: "Your role in this account does not allow this action." },
  invitation_not_yours: {
    status: 403,
    retry: "never",
    text: "This invitation is for another email address. Sign in with the address it was sent to.",
  },
  already_in_team: {
    status: 409,
    retry: "never",
    text: "A person with this email address is already in the team. Change their role instead.",
  },
  last_owner: {
    status: 409,
    retry: "never",
    text: "An account needs at least one owner, and this person is its only owner. Invite another owner first.",
  },
  account_owes: {
    status: 409,
    retry: "never",
    text: "The account's balance is negative. Its owners cannot leave or change roles until the debt is paid.",
  },
  deletion_blocked: {
    status: 409,
    retry: "never",
    text: "The account or user cannot be deleted yet.",
  },
  account_deleted: {
    status: 409,
    retry: "never",
    text: "The account was deleted by its owner. Nothing can be changed in it.",
  },
  cross_site_blocked: {
    status: 403,
    retry: "never",
    text: "This request came from another site. Send it from the console's own pages.",
  },
  session_read_only: {
    status: 403,
    retry: "never",
    text: "This session can only read. Log in with tollgate login --write for a session that can change things.",
  },
  browser_required: {
    status: 403,
    retry: "never",
    text: "A session for scripts cannot do this. Sign in to the console in a browser.",
  },
  operator_excluded: {
    status: 403,
    retry: "never",
    text: "Operators cannot have sessions for scripts. Use tollgate admin on the gateway's machine.",
  },
  email_not_verified: {
    status: 403,
    retry: "never",
    text: "Your email address is not confirmed. Open the link in the email that was sent to it.",
  },
  sign_in_provider_unavailable: {
    status: 502,
    retry: "later",
    text: "The sign-in provider did not respond. Try again, or sign in another way.",
  },
  host_only: { status: 403, retry: "never", text: "This request needs a host account, and you have none." },
  operator_only: { status: 403, retry: "never", text: "Only operators of the platform can do this." },
  limit_reached: {
    status: 409,
    retry: "never",
    text: "Limit reached: there are already as many accounts, members, keys or tokens as allowed. Remove one first.",
  },
  nothing_owed: {
    status: 409,
    retry: "never",
    text: "No host is owed enough for a payout. Held-back earnings and open payouts do not count.",
  },
  payout_exceeds_balance: {
    status: 409,
    retry: "never",
    text: "A host's balance is less than its amount in this payout. Nothing was booked, and the payout stays open.",
  },
  too_many_viewers: {
    status: 429,
    retry: "later",
    text: "Too many pages with live figures are open for this account. Close one of them.",
  },
  invalid_cursor: {
    status: 400,
    retry: "never",
    text: 'The cursor is invalid for this list. Start again without "cursor".',
  },
  unknown_model: {
    status: 422,
    retry: "never",
    text: "No model in the catalogue has this ID. Check the model filter.",
  },
  unknown_outcome: {
    status: 422,
    retry: "never",
    text: "No request outcome has this name. Check the outcome filter.",
  },
  not_found: { status: 404, retry: "never", text: "You have no object with this ID." },
  billing_disabled: { status: 404, retry: "never", text: "This deployment does not sell credits." },
  not_a_builder: {
    status: 403,
    retry: "never",
    text: "Only builder accounts can buy credits, and this is a host account.",
  },
  unknown_pack: {
    status: 422,
    retry: "never",
    text: "No credit pack has this ID. GET /console/api/packs lists the packs.",
  },
  payment_provider_unavailable: {
    status: 502,
    retry: "later",
    text: "The payment provider did not start a checkout. Nothing was charged. Try again later.",
  },
  no_payment_method: {
    status: 409,
    retry: "never",
    text: "This account has no saved card. Save one first.",
  },
  invalid_signature: { status: 400, retry: "never", text: "The webhook signature is invalid." },
  invalid_host_token: {
    status: 401,
    retry: "never",
    text: "The host token is missing, malformed, unknown or revoked. Send it in the header: Authorization: Bearer tht_live_…",
  },
  node_not_found: { status: 404, retry: "never", text: "No node has this ID." },
  node_quarantined: {
    status: 409,
    retry: "never",
    text: "The node is quarantined. An operator has to release it first.",
  },
  node_state_conflict: { status: 409, retry: "never", text: "The node's current state does not allow this action." },
  node_name_taken: { status: 409, retry: "never", text: "Another node of this account already has this name." },
  too_many_nodes: {
    status: 409,
    retry: "never",
    text: "Limit reached: this host account already has 100 nodes. Retire one first.",
  },
  no_elected_builds: { status: 409, retry: "never", text: "The node has not elected (chosen) any models yet." },
  not_implemented: {
    status: 501,
    retry: "never",
    text: "This platform has no dispatch plane (message server for nodes).",
  },
  dispatch_admin_error: {
    status: 502,
    retry: "later",
    text: "The dispatch plane (message server for nodes) could not issue credentials. Try again later.",
  },
} as const satisfies Record<string, FaultSpec>;

export type FaultCode = keyof typeof faults;

/** An error response of a route, as clients see it. */
export interface Refusal<Code extends FaultCode | undefined = FaultCode | undefined> {
  status: number;
  retry: RetryAdvice;
  /** The error's type. Equal to the code if there is one. */
  type: string;
  /** The error's code, which is a stable part of the API. Undefined for errors without a code. */
  code: Code;
  message: string;
  extra: Record<string, unknown>;
}

/** Makes the error with a code of the catalogue. A route may replace the catalogue's message. */
export function refusal<const Code extends FaultCode>(
  code: Code,
  message?: string,
  extra: Record<string, unknown> = {},
): Refusal<Code> {
  const { status, retry, text }: FaultSpec = faults[code];
  return { status, retry, type: code, code, message: message ?? text, extra };
}

export const refusalsOfCodes = <const Code extends FaultCode>(...list: Code[]): Refusal<Code>[] =>
  list.map((code) => refusal(code));

/** The error for a request ID that is not in the history of the calling builder or host. */
export const NO_SUCH_REQUEST = refusal("not_found", "No request in your history has this ID.");

/** A 400 error that names a field, parameter or header, and the rule that its value breaks. */
export function invalidFieldError(param: string | null, message: string): Refusal<undefined> {
  const extra = param === null ? {} : { param };
  return { status: 400, retry: "never", type: "invalid_request_error", code: undefined, message, extra };
}

/** A 400 error in the form `"from" must be …`. The field's name is quoted, because some names are English words. */
export const brokenRuleError = (field: string, rule: string): Refusal<undefined> =>
  invalidFieldError(field, `"${field}" ${rule}`);

/** A 404 error for a path or feature that does not exist for any caller. */
export function unknownPathError(message: string): Refusal<undefined> {
  return { status: 404, retry: "never", type: "not_found_error", code: undefined, message, extra: {} };
}

export function compressedBodyError(encoding: string, header = "content-encoding"): Refusal<undefined> {
  const message = `The body must not be compressed (${header}: ${encoding.slice(0, 40)}). Send it without compression.`;
  return { status: 415, retry: "never", type: "invalid_request_error", code: undefined, message, extra: {} };
}

/** A 408 error: the request body stopped arriving, or arrived too slowly. */
export function slowBodyError(): Refusal<undefined> {
  const message = "The request took too long to arrive.";
  return { status: 408, retry: "never", type: "invalid_request_error", code: undefined, message, extra: {} };
}

export interface FaultBody {
  error: Record<string, unknown> & { message: string; type: string; code?: string; param?: string };
}

/** Makes the JSON body of an error response. */
export function buildErrorBody({ code, type, message, extra }: Refusal): FaultBody {
  return { error: { message, type, ...(code !== undefined && { code }), ...extra } };
}
