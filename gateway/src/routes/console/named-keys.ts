/** The keys that a query names: one by its id, or the playground's, all that the account ever had. */
import { PLAYGROUND } from "@tollgate/api/console/playground.ts";
import { parseId, type Uuid } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";
import type { SessionKeys } from "../../keys/session-keys.ts";

/** Undefined if the request names none. */
export async function namedKeys(
  sessionKeys: Pick<SessionKeys, "ofAccount">,
  accountId: Uuid,
  key: string | undefined,
): Promise<Uuid[] | undefined> {
  if (key === undefined) return undefined;
  if (key === PLAYGROUND) return await sessionKeys.ofAccount(accountId);
  const id = parseId("key", key);
  invariant(id !== undefined, `the key ${key} was let through`);
  return [id];
}
