/** Counts a refused call for the owner of its API key. */
import type { Uuid } from "../base/ids.ts";
import { Fault } from "../faults.ts";
import { bearerToken, extractTokenReference } from "../keys/secret-format.ts";
import type { RequestPathDependencies } from "./request-path-dependencies.ts";

/** The caller of a refused request, as far as known. */
export interface RefusedCaller {
  authorization: string | undefined;
  key?: { id: Uuid; accountId: Uuid };
  /** The model, which is known only after the body is read. */
  model?: string;
}

/** Counts every 4xx, because clients can fix these. A call without a key has no owner and is not counted. */
export function countRefusedCall(
  gw: Pick<RequestPathDependencies, "refusedCalls">,
  asker: RefusedCaller,
  error: unknown,
): void {
  if (!(error instanceof Fault) || error.status >= 500) return;
  const by = asker.key ?? named(asker.authorization);
  if (by === undefined) return;
  const { code, type, status, about, message } = error;
  const model = asker.model ?? about.model ?? null;
  gw.refusedCalls.note(by, { code: code ?? type, status, model, message: about.message ?? message });
}

function named(authorization: string | undefined): { reference: string } | undefined {
  const token = bearerToken(authorization);
  const reference = token === undefined ? undefined : extractTokenReference("tsk", token);
  return reference === undefined ? undefined : { reference };
}
