/** Guards decide who may call a route. Each has its error responses, in the order of the checks. */
import { invalidFieldError, type Refusal, refusal, refusalsOfCodes } from "./faults.ts";
import {
  describeRequiredRole,
  findRequiredPermission,
  listRolesWithPermission,
  type Permission,
  ROLES,
} from "./roles.ts";

/** The header that names the account to act for, `acc_…`. Required for people with several accounts of a kind. */
export const ACCOUNT_HEADER = "x-tollgate-account";

interface Access {
  /** Whether the route needs no credential. */
  open: boolean;
  /**
   * Names of header or query parameters, defined in the API document's components, that every route with this guard
   * accepts.
   */
  parameters: readonly string[];
  faults: readonly Refusal[];
  /** Headers of every answer to callers that the guard admits. */
  headers?: readonly string[];
}

/** Headers with the limits of the calling key, and the remaining amounts. */
const RATE_LIMIT_HEADERS = ["requests", "tokens"].flatMap((what) =>
  ["limit", "remaining", "reset"].map((which) => `x-ratelimit-${which}-${what}`),
);

const actingFor = (...others: Refusal[]): Access => ({
  open: false,
  parameters: ["account"],
  faults: [
    ...refusalsOfCodes("not_authenticated", "no_account", "account_suspended"),
    invalidFieldError(ACCOUNT_HEADER, `${ACCOUNT_HEADER} must be the ID of one of your accounts (acc_…).`),
    ...others,
  ],
});

export const GUARDS = {
  /** Anyone may call the route, without a credential. */
  anyone: { open: true, parameters: [], faults: [] },
  /** Any person with a console session. */
  signedIn: { open: false, parameters: [], faults: refusalsOfCodes("not_authenticated") },
  /** A person who acts for a builder account. */
  builder: actingFor(...refusalsOfCodes("member_only")),
  /** A person who acts for a builder account to buy credit. A host account gets `not_a_builder`. */
  buyer: actingFor(...refusalsOfCodes("member_only", "not_a_builder")),
  /** A person who acts for a host account. */
  host: actingFor(...refusalsOfCodes("host_only")),
  /** A person who acts for an account of either kind. */
  account: actingFor(),
  operator: { open: false, parameters: [], faults: refusalsOfCodes("not_authenticated", "operator_only") },
  /** A host's agent or command line, identified by a host token. */
  hostToken: { open: false, parameters: [], faults: refusalsOfCodes("invalid_host_token") },
  /** A builder's program, identified by an API key. Every call counts against the key's limits. */
  apiKey: {
    open: false,
    parameters: [],
    faults: refusalsOfCodes("invalid_api_key", "rate_limit_requests", "rate_limit_tokens", "rate_limit_streams"),
    headers: RATE_LIMIT_HEADERS,
  },
} as const satisfies Record<string, Access>;

export type Guard = keyof typeof GUARDS;

/** Guards whose credentials a browser never sends by itself. Requests from other sites are therefore harmless. */
const BEARERS: readonly Guard[] = ["hostToken", "apiKey"];

/**
 * Guards of routes on which a person acts for an account. The person's role in that account decides what is allowed.
 */
export const ACCOUNT_GUARDS: readonly Guard[] = ["builder", "buyer", "host", "account"];

/** The access rules of a route. If a console route changes something, requests from other sites are refused first. */
export function findAccessRules(route: { at: string; guard: Guard; needs?: Permission }): Access {
  const { at, guard } = route;
  const access: Access = ACCOUNT_GUARDS.includes(guard)
    ? forRole(GUARDS[guard], findRequiredPermission(route))
    : GUARDS[guard];
  if (BEARERS.includes(guard) || at.startsWith("GET ")) return access;
  return { ...access, faults: [...refusalsOfCodes("cross_site_blocked"), ...access.faults, ...forScripts(route)] };
}

/**
 * The errors for script sessions. They cannot change how a person signs in, and need write access to change anything
 * else.
 */
function forScripts(route: { at: string; guard: Guard; needs?: Permission }): Refusal[] {
  if (route.guard === "signedIn") return refusalsOfCodes("browser_required");
  return ACCOUNT_GUARDS.includes(route.guard) && findRequiredPermission(route) !== "read"
    ? refusalsOfCodes("session_read_only")
    : [];
}

function forRole(access: Access, need: Permission): Access {
  if (listRolesWithPermission(need).length === ROLES.length) return access;
  return { ...access, faults: [...access.faults, refusal("role_required", describeRequiredRole(need))] };
}
