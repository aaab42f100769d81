/**
 * Guards decide who may call a route, before its body is read. The order of checks is fixed: route, method, other site
 * (403), session or token (401), account (403), role (403). A route declares its guard and the required permission. The
 * guard passes the caller's identity and account to the handler.
 */
import type { Guard } from "@tollgate/api/guards.ts";
import { ACCOUNT_HEADER } from "@tollgate/api/guards.ts";
import { describeRequiredRole, type Permission, roleHasPermission } from "@tollgate/api/roles.ts";
import type { AccountKind, Membership } from "../accounts/accounts.ts";
import { chooseActingAccount } from "../accounts/acting-account.ts";
import type { Identities, SignedInPerson } from "../accounts/identities.ts";
import { readScriptToken } from "../accounts/script-sessions.ts";
import { parseId, type Uuid } from "../base/ids.ts";
import type { ScriptAccess } from "../base/stored-enumerations.ts";
import { type Fault, fault, invalidRequest } from "../faults.ts";
import type { SecretStore } from "../keys/secret-store.ts";
import { isCrossSite } from "./cross-site.ts";
import type { OpenCall } from "./http-call.ts";

interface Person {
  who: SignedInPerson;
  /** The access of a script's session: read, or read and write. */
  script?: ScriptAccess;
  /** The payer that a large body's memory is counted for. */
  payer: string;
}
interface Acting extends Person {
  account: Membership;
}

/** The data that each guard passes to the handler. */
export interface GuardResults extends Record<Guard, object> {
  anyone: Record<never, never>;
  signedIn: Person;
  builder: Acting;
  buyer: Acting;
  host: Acting;
  account: Acting;
  operator: Person;
  hostToken: { accountId: Uuid; payer: string };
}

/**
 * The guards checked here. The public API's handlers check API keys themselves, together with the key's limits
 * (inference/serve.ts).
 */
export type GuardExceptApiKey = Exclude<Guard, "apiKey">;
export type GuardChecks = { [G in GuardExceptApiKey]: (call: OpenCall, need?: Permission) => Promise<GuardResults[G]> };

interface ConsoleGuardOptions {
  identities: Identities;
  /** The public URL, if configured. */
  publicUrl: string | undefined;
}

export type ConsoleGuards = Omit<GuardChecks, "hostToken">;

export function consoleGuards({ identities, publicUrl }: ConsoleGuardOptions): ConsoleGuards {
  const fromOurPages = ({ request, scheme }: OpenCall): void => {
    const { origin, host, "sec-fetch-site": site } = request.headers;
    const arrival = { method: request.method ?? "", site: site?.toString(), origin, host, scheme };
    if (isCrossSite(arrival, publicUrl)) throw fault("cross_site_blocked");
  };
  const person = async (call: OpenCall): Promise<Person> => {
    const token = readScriptToken(call.authorization);
    if (token !== undefined) return await byScript(token);
    fromOurPages(call);
    const { cookie } = call.request.headers;
    const who = cookie === undefined ? undefined : await identities.session(new Headers({ cookie }));
    if (who === undefined) throw fault("not_authenticated");
    return { who, payer: who.identityId };
  };
  // Needs no check against cross-site requests (CSRF), because a browser never sends a script's token by itself.
  const byScript = async (token: string): Promise<Person> => {
    const session = await identities.scripts.session(token);
    if (session === undefined) throw fault("not_authenticated");
    return { who: session.who, payer: session.who.identityId, script: session.access };
  };
  const acting =
    (kind: AccountKind | undefined, otherKind: (accounts: Membership[]) => Fault) =>
    async (call: OpenCall, need: Permission = "read"): Promise<Acting> => {
      const found = await person(call);
      const { identityId, operator } = found.who;
      const accounts = await identities.accountsOf(identityId);
      const choice = chooseActingAccount({ accounts, kind, named: namedAccount(call), operator });
      if (choice.kind === "acts") {
        if (found.script === "read" && need !== "read") throw fault("session_read_only");
        requireRole(choice.account, need);
        return { ...found, account: choice.account };
      }
      if (choice.why === "other_kind") throw otherKind(accounts);
      if (choice.why === "unknown_account") throw notYours();
      if (choice.why === "several_accounts") throw whichAccount(kind);
      throw fault(choice.why);
    };
  return {
    async anyone(call) {
      if (readScriptToken(call.authorization) === undefined) fromOurPages(call);
      return {};
    },
    async signedIn(call) {
      const found = await person(call);
      // A script may read, but not change how the person signs in or which accounts they have.
      if (found.script !== undefined && !isReading(call)) throw fault("browser_required");
      return found;
    },
    builder: acting("builder", () => fault("member_only")),
    buyer: acting("builder", (accounts) => (accounts.length === 0 ? fault("member_only") : fault("not_a_builder"))),
    host: acting("host", () => fault("host_only")),
    account: acting(undefined, () => fault("no_account")),
    async operator(call) {
      const found = await person(call);
      if (!found.who.operator) throw fault("operator_only");
      return found;
    },
  };
}

const isReading = ({ request }: OpenCall): boolean => request.method === "GET" || request.method === "HEAD";

/** Throws if the caller's role lacks the permission. */
export function requireRole({ role }: Membership, need: Permission): void {
  if (!roleHasPermission(role, need)) throw makeRoleRequiredFault(need);
}

export const makeRoleRequiredFault = (need: Permission, message = describeRequiredRole(need)): Fault =>
  fault("role_required", { message });

export function hostTokenGuard(hostTokens: Pick<SecretStore, "authenticate">): Pick<GuardChecks, "hostToken"> {
  return {
    async hostToken({ authorization }) {
      const holder = await hostTokens.authenticate(authorization);
      if (holder === undefined) throw fault("invalid_host_token");
      return { accountId: holder.accountId, payer: holder.accountId };
    },
  };
}

function namedAccount({ request }: OpenCall): Uuid | undefined {
  const named = request.headers[ACCOUNT_HEADER];
  if (named === undefined) return undefined;
  const id = parseId("acc", String(named));
  if (id === undefined) throw notYours();
  return id;
}

/** The same error for another person's account and for an unknown account. */
const notYours = (): Fault =>
  invalidRequest(ACCOUNT_HEADER, `${ACCOUNT_HEADER} must be the ID of one of your accounts (acc_…).`);

const whichAccount = (kind: AccountKind | undefined): Fault => {
  const several = kind === undefined ? "several accounts" : `several ${kind} accounts`;
  return invalidRequest(ACCOUNT_HEADER, `You have ${several}. Set ${ACCOUNT_HEADER} to the ID of one of them (acc_…).`);
};
