/**
 * What the authorisation tests need beyond an operation's declaration. Most operations need nothing: their example is sent, the path's
 * description shows what its id names, and the answer has the declared status.
 */

import type { FaultCode } from "@tollgate/api/faults.ts";
import type { Api } from "@tollgate/api/openapi/api.ts";
import { TEAMS, type Thing, type Who } from "./fixture.ts";
import { idPrefixOf, type Operation, operationsOf } from "./operations.ts";

export interface Access extends Operation {
  /** The thing that `{id}` names. */
  thing: Thing | undefined;
  sent: unknown;
  /** The status for a caller who has access and owns the thing. */
  status: number;
  /** The refusal for another account's thing or an unknown one. */
  absent: FaultCode | undefined;
  /** Callers who pass the guard and are refused by the route's own rule. */
  except: Partial<Record<Who, string>>;
}

interface Row {
  thing?: Thing;
  /** A function if every call needs another body. */
  body?: object | (() => object);
  status?: number;
  except?: Access["except"];
}

/** Refused by its fields, so nothing happens. */
const NOTHING: Row = { body: {}, status: 400 };
const SUSPENDED: Row["except"] = { "suspended builder": "account_suspended", "suspended host": "account_suspended" };
const NO_OPERATORS: Row["except"] = { operator: "operator_excluded" };

/** The handler refuses every member of the team except owners. */
const OWNERS: Row = { except: { member: "role_required", billing: "role_required", viewer: "role_required" } };

let names = 0;

const ROWS: Record<string, Row> = {
  // Node names are unique per host.
  renameNode: { body: () => ({ name: `renamed ${names++}` }) },
  signUp: NOTHING,
  signIn: NOTHING,
  signInWithCode: NOTHING,
  signInWithOpenId: NOTHING,
  // An unknown provider redirects to the sign-in page.
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
  // Members work with the keys that they created; the owner created these.
  changeKey: { except: { member: "role_required" } },
  rotateKey: { except: { member: "role_required" } },
  beginScriptLogin: NOTHING,
  // No login waits.
  readScriptLogin: { status: 404, except: NO_OPERATORS },
  answerScriptLogin: { status: 404, except: NO_OPERATORS },
  openAccount: { except: SUSPENDED },
  renameAccount: OWNERS,
  exportAccount: OWNERS,
  getDeletion: OWNERS,
  // Refused by the confirmation, so nothing is deleted.
  deleteAccount: { ...OWNERS, body: { name: "not its name" }, status: 400 },
  deletePerson: { body: { email: "other@example.test" }, status: 400 },
  readInvitation: NOTHING,
  acceptInvitation: NOTHING,
  // Everyone may leave; only owners remove others.
  removeFromTeam: {
    except: Object.fromEntries(
      Object.values(TEAMS)
        .flat()
        .map((who) => [who, "role_required"]),
    ),
  },
  // No email is sent there.
  testNotification: { status: 404 },
  // No card is saved there.
  removeMethod: { status: 409 },
  getPaymentReceipt: { thing: "payment" },
  releaseNode: { thing: "quarantined node" },
  clearNode: { thing: "withheld node" },
  // The month is missing.
  getInvoice: { status: 400 },
  getHostStatement: { status: 400 },
  // The model does not exist.
  readModel: { status: 404 },
  readModelPerformance: { status: 404 },
  // Less is owed here than the example asks for.
  createPayout: { body: { note: "a test" } },
};

/** These operations change permissions, so they run last. */
const LAST = ["openAccount", "signOut"];

const THINGS: Record<string, Thing> = {
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

/** Ordered so that no operation removes what a later one needs. */
export function accessOf(api: Api): Access[] {
  const inOrder = operationsOf(api).toSorted((a, b) => LAST.indexOf(a.id) - LAST.indexOf(b.id));
  return inOrder.map((operation) => {
    const { thing = thingOf(operation), body, status, except = {} } = ROWS[operation.id] ?? {};
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

export function thingOf(operation: Operation): Thing | undefined {
  const prefix = idPrefixOf(operation);
  if (prefix === undefined) return undefined;
  const thing = THINGS[prefix];
  if (thing === undefined) throw new Error(`${operation.id}: no test makes what ${prefix}_… names`);
  return thing;
}

/** Rows of operations that no longer exist. */
export const rowsWithout = (apis: Api[]): string[] => {
  const ids = new Set(apis.flatMap(operationsOf).map(({ id }) => id));
  return Object.keys(ROWS).filter((id) => !ids.has(id));
};
