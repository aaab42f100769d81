/** Finds the API keys for a filter: one key by its ID, or all playground keys that the account ever had. */
import { PLAYGROUND_KEY_FILTER } from "@tollgate/api/console/playground.ts";
import { parseId, type Uuid } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";
import type { PlaygroundKeys } from "../../keys/playground-keys.ts";

/** Returns undefined if the query has no key filter. */
export async function findApiKeysOfFilter(
  sessionKeys: Pick<PlaygroundKeys, "ofAccount">,
  accountId: Uuid,
  key: string | undefined,
): Promise<Uuid[] | undefined> {
  if (key === undefined) return undefined;
  if (key === PLAYGROUND_KEY_FILTER) return await sessionKeys.ofAccount(accountId);
  const id = parseId("key", key);
  invariant(id !== undefined, `the key ${key} was let through`);
  return [id];
}
