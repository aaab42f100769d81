/** The guards of routes and their refusals, in the order of the checks. */
import { codes, type Refusal, refusal, wrongField } from "./faults.ts";
import { type Need, needOf, ROLES, roleNeeded, rolesFor } from "./roles.ts";

/** The account to act for, `acc_…`. Required for people with several accounts of a kind. */
export const ACCOUNT_HEADER = "x-tollgate-account";

interface Access {
  /** No credential is needed. */
  open: boolean;
  /** Names of header or query parameters, in the document's components, that every such route takes. */
  parameters: readonly string[];
  faults: readonly Refusal[];
  /** Headers of every answer to admitted callers. */
  headers?: readonly string[];
}

/** The limits of the calling key, and what remains of them. */
const RATE_LIMIT_HEADERS = ["requests", "tokens"].flatMap((what) =>
  ["limit", "remaining", "reset"].map((which) => `x-ratelimit-${which}-${what}`),
);

const actingFor = (...others: Refusal[]): Access => ({
  open: false,
  parameters: ["account"],
  faults: [
    ...codes("not_authenticated", "no_account", "account_suspended"),
    wrongField(ACCOUNT_HEADER, `${ACCOUNT_HEADER} must be the ID of one of your accounts (acc_…).`),
    ...others,
  ],
});

export const GUARDS = {
  /** No credential needed. */
  anyone: { open: true, parameters: [], faults: [] },
  /** A person with a console session. */
  signedIn: { open: false, parameters: [], faults: codes("not_authenticated") },
  /** Acts for a builder account. */
  builder: actingFor(...codes("member_only")),
  /** Like `builder`, for buying credit: a host gets `not_a_builder`. */
  buyer: actingFor(...codes("member_only", "not_a_builder")),
  /** Acts for a host account. */
  host: actingFor(...codes("host_only")),
  /** Acts for an account of either kind. */
  account: actingFor(),
  operator: { open: false, parameters: [], faults: codes("not_authenticated", "operator_only") },
  /** A host's agent or command line, by host token. */
  hostToken: { open: false, parameters: [], faults: codes("invalid_host_token") },
  /** A builder's program, by API key. Every call counts against the key's limits. */
  apiKey: {
    open: false,
    parameters: [],
    faults: codes("invalid_api_key", "rate_limit_requests", "rate_limit_tokens", "rate_limit_streams"),
    headers: RATE_LIMIT_HEADERS,
  },
} as const satisfies Record<string, Access>;

export type Guard = keyof typeof GUARDS;

/** Guards with credentials that browsers never send by themselves, so cross-site requests are harmless. */
const BEARERS: readonly Guard[] = ["hostToken", "apiKey"];

/** Guards that act for an account, where the person's role decides. */
export const ACTING_GUARDS: readonly Guard[] = ["builder", "buyer", "host", "account"];

/** The guard's refusals. For routes of the console that change something, requests from other sites are refused first. */
export function accessOf(route: { at: string; guard: Guard; needs?: Need }): Access {
  const { at, guard } = route;
  const access: Access = ACTING_GUARDS.includes(guard) ? forRole(GUARDS[guard], needOf(route)) : GUARDS[guard];
  if (BEARERS.includes(guard) || at.startsWith("GET ")) return access;
  return { ...access, faults: [...codes("cross_site_blocked"), ...access.faults, ...forScripts(route)] };
}

/** The refusals for script sessions: they never change how a person signs in, and write only with write access. */
function forScripts(route: { at: string; guard: Guard; needs?: Need }): Refusal[] {
  if (route.guard === "signedIn") return codes("browser_required");
  return ACTING_GUARDS.includes(route.guard) && needOf(route) !== "read" ? codes("session_read_only") : [];
}

function forRole(access: Access, need: Need): Access {
  if (rolesFor(need).length === ROLES.length) return access;
  return { ...access, faults: [...access.faults, refusal("role_required", roleNeeded(need))] };
}
