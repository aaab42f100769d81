/**
 * The error for an unknown request. A request ID contains its time, so the error can say whether the request's month
 * was deleted.
 */
import { creationTimeMsOf, type Uuid } from "../../base/ids.ts";
import type { Fault, FaultOptions } from "../../faults.ts";
import type { RequestHistory } from "../../history/request-history.ts";

export async function createRequestNotFoundFault(
  history: Pick<RequestHistory, "keptFrom">,
  id: Uuid | undefined,
  refuse: (code: "not_found", more?: FaultOptions) => Fault,
): Promise<Fault> {
  const from = id === undefined ? null : await history.keptFrom();
  if (id === undefined || from === null || creationTimeMsOf(id) >= from.getTime()) return refuse("not_found");
  const day = from.toISOString().slice(0, 10);
  return refuse("not_found", {
    message: `No request in your history has this ID. Your oldest record is from ${day}, and this request would be older.`,
  });
}
