/**
 * Who is let in to a route of the console. Checks come in a fixed order: route, method, other site (403), session (401),
 * account (403). A route names its guard; what the guard found out is handed to its handler.
 *
 *   route("GET", "/console/api/balance", guards.builder, async ({ account, json }) => json(await balance(account.id)));
 */
import type { Account, AccountKind } from "../../accounts/accounts.ts";
import { chooseActing } from "../../accounts/acting.ts";
import type { Identities, SignedIn } from "../../accounts/identities.ts";
import { parseId, type Uuid } from "../../base/ids.ts";
import { type Fault, fault, invalidRequest } from "../../faults.ts";
import type { Visit } from "./visit.ts";

/** Names the account to act for, `acc_…`. Needed by those who own several of a kind. */
export const ACCOUNT_HEADER = "x-tollgate-account";

export type Guard<Found extends object> = (visit: Visit) => Promise<Found>;

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Puts one method of one path on the server. Every other method of the path is told which there are. */
export type ConsoleRoute = <Found extends object>(
  method: Method,
  url: string,
  guard: Guard<Found>,
  handle: (visit: Visit & Found) => Promise<void>,
) => void;

export interface Guards {
  /** No session needed. */
  anyone: Guard<object>;
  signedIn: Guard<{ who: SignedIn }>;
  /** Acts for a builder account: 403 `no_account`, `account_suspended` or `member_only` where there is none to act for. */
  builder: Guard<{ who: SignedIn; account: Account }>;
  /** As `builder`, for buying credits: a host is told `not_a_builder`. */
  buyer: Guard<{ who: SignedIn; account: Account }>;
  /** Acts for a host account; who has none is told `host_only`. */
  host: Guard<{ who: SignedIn; account: Account }>;
  /** Everybody else is told `operator_only`. */
  operator: Guard<{ who: SignedIn }>;
}

export function guardsOf(identities: Identities): Guards {
  const signedIn = async ({ call }: Visit): Promise<{ who: SignedIn }> => {
    const { cookie } = call.request.headers;
    const who = cookie === undefined ? undefined : await identities.session(new Headers({ cookie }));
    if (who === undefined) throw fault("not_authenticated");
    return { who };
  };
  const acting =
    (kind: AccountKind, otherKind: (accounts: Account[]) => Fault) =>
    async (visit: Visit): Promise<{ who: SignedIn; account: Account }> => {
      const { who } = await signedIn(visit);
      const accounts = await identities.accountsOf(who.identityId);
      const choice = chooseActing({ accounts, kind, named: namedAccount(visit), operator: who.operator });
      if (choice.kind === "acts") return { who, account: choice.account };
      if (choice.why === "other_kind") throw otherKind(accounts);
      if (choice.why === "unknown_account") throw notYours();
      if (choice.why === "several_accounts") throw whichAccount(kind);
      throw fault(choice.why);
    };
  return {
    anyone: async () => ({}),
    signedIn,
    builder: acting("builder", () => fault("member_only")),
    buyer: acting("builder", (accounts) => (accounts.length === 0 ? fault("member_only") : fault("not_a_builder"))),
    host: acting("host", () => fault("host_only")),
    async operator(visit) {
      const { who } = await signedIn(visit);
      if (!who.operator) throw fault("operator_only");
      return { who };
    },
  };
}

function namedAccount({ call }: Visit): Uuid | undefined {
  const named = call.request.headers[ACCOUNT_HEADER];
  if (named === undefined) return undefined;
  const id = parseId("acc", String(named));
  if (id === undefined) throw notYours();
  return id;
}

/** One answer for an account that is not theirs and one that does not exist. */
const notYours = (): Fault =>
  invalidRequest(ACCOUNT_HEADER, `${ACCOUNT_HEADER} must name an account of yours (acc_…).`);

const whichAccount = (kind: AccountKind): Fault =>
  invalidRequest(ACCOUNT_HEADER, `You have several ${kind} accounts: ${ACCOUNT_HEADER} must name one (acc_…).`);
