/**
 * For authorisation tests: the data that an operation's declaration lacks. Most operations need none: the test sends
 * the declared example, the path's description names the kind of ID, and the answer has the declared status.
 */

import type { FaultCode } from "@tollgate/api/faults.ts";
import type { Api } from "@tollgate/api/openapi/api-declaration.ts";
import { type ObjectKind, type PersonKind, TEAM_MEMBER_KINDS } from "./contract-fixture.ts";
import { findIdPrefix, listOperations, type Operation } from "./operations.ts";

export interface AccessCase extends Operation {
  /** The kind of object that `{id}` in the path names. */
  thing: ObjectKind | undefined;
  sent: unknown;
  /** The status for a caller who has access and owns the object. */
  status: number;
  /** The error code for another account's object or an unknown one. */
  absent: FaultCode | undefined;
  /** The error codes for callers who pass the guard but are refused by the route's own rule. */
  except: Partial<Record<PersonKind, string>>;
}

interface Row {
  thing?: ObjectKind;
  /** A function if every call needs a different body. */
  body?: object | (() => object);
  status?: number;
  except?: AccessCase["except"];
}

/** An empty body, which is refused, so that the operation changes nothing. */
const NOTHING: Row = { body: {}, status: 400 };
const SUSPENDED: Row["except"] = { "suspended builder": "account_suspended", "suspended host": "account_suspended" };
const NO_OPERATORS: Row["except"] = { operator: "operator_excluded" };

/** The route allows owners only, and refuses all other members of the team. */
const OWNERS: Row = { except: { member: "role_required", billing: "role_required", viewer: "role_required" } };

let names = 0;

const ROWS: Record<string, Row> = {
  // Node names are unique per host.
  renameNode: { body: () => ({ name: `renamed ${names++}` }) },
  signUp: NOTHING,
  signIn: NOTHING,
  signInWithCode: NOTHING,
  signInWithOpenId: NOTHING,
  // The test's provider is unknown, for which the route redirects to the sign-in page.
  finishOpenId: { status: 302 },
  requestPasswordReset: NOTHING,
  resetPassword: NOTHING,
  requestEmailVerification: NOTHING,
  verifyEmail: NOTHING,
  changePassword: NOTHING,
  enableTwoFactor: NOTHING,
  confirmTwoFactor: NOTHING,
  replaceBackupCodes: NOTHING,
  disableTwoFactor: NOTHING,
  // Members may change only the keys that they created. The owner created these.
  changeKey: { except: { member: "role_required" } },
  rotateKey: { except: { member: "role_required" } },
  beginScriptLogin: NOTHING,
  // The test has no pending login, so the code is unknown.
  readScriptLogin: { status: 404, except: NO_OPERATORS },
  answerScriptLogin: { status: 404, except: NO_OPERATORS },
  openAccount: { except: SUSPENDED },
  renameAccount: OWNERS,
  exportAccount: OWNERS,
  getDeletion: OWNERS,
  // The confirmation is wrong, so that nothing is deleted.
  deleteAccount: { ...OWNERS, body: { name: "not its name" }, status: 400 },
  deletePerson: { body: { email: "other@example.test" }, status: 400 },
  readInvitation: NOTHING,
  acceptInvitation: NOTHING,
  // Everyone may leave a team; only owners may remove others.
  removeFromTeam: {
    except: Object.fromEntries(
      Object.values(TEAM_MEMBER_KINDS)
        .flat()
        .map((who) => [who, "role_required"]),
    ),
  },
  // The gateway in the test sends no emails, so the email channel of the example does not exist.
  testNotification: { status: 404 },
  // The test account has no saved card.
  removeMethod: { status: 409 },
  getPaymentReceipt: { thing: "payment" },
  releaseNode: { thing: "quarantined node" },
  clearNode: { thing: "withheld node" },
  // The call lacks the month, so it is refused.
  getInvoice: { status: 400 },
  getHostStatement: { status: 400 },
  // The ID in the test is not a model's.
  readModel: { status: 404 },
  readModelPerformance: { status: 404 },
  // Hosts are owed less here than the minimum in the declared example.
  createPayout: { body: { note: "a test" } },
};

/** Operations that change permissions, so they run last. */
const LAST = ["openAccount", "signOut"];

const THINGS: Record<string, ObjectKind> = {
  acc: "account",
  ses: "session",
  key: "key",
  req: "request",
  hst: "token",
  node: "node",
  pay: "batch",
  usr: "member",
  inv: "invitation",
  inc: "incident",
};

/** All operations with their access data, ordered so that no operation removes an object that a later one needs. */
export function listAccessCases(api: Api): AccessCase[] {
  const inOrder = listOperations(api).toSorted((a, b) => LAST.indexOf(a.id) - LAST.indexOf(b.id));
  return inOrder.map((operation) => {
    const { thing = findObjectKind(operation), body, status, except = {} } = ROWS[operation.id] ?? {};
    return {
      ...operation,
      thing,
      get sent() {
        return typeof body === "function" ? body() : (body ?? operation.body?.example);
      },
      status: status ?? operation.answer.status ?? 200,
      absent: thing && operation.faults?.find((one) => one.status === 404)?.code,
      except,
    };
  });
}

export function findObjectKind(operation: Operation): ObjectKind | undefined {
  const prefix = findIdPrefix(operation);
  if (prefix === undefined) return undefined;
  const thing = THINGS[prefix];
  if (thing === undefined) throw new Error(`${operation.id}: no test makes what ${prefix}_… names`);
  return thing;
}

/** The rows of the table above whose operation no longer exists. */
export const findObsoleteAccessRows = (apis: Api[]): string[] => {
  const ids = new Set(apis.flatMap(listOperations).map(({ id }) => id));
  return Object.keys(ROWS).filter((id) => !ids.has(id));
};
