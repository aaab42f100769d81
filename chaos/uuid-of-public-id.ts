/** Converts public IDs to the database's UUIDs. */
import { parseId } from "../gateway/src/base/ids.ts";

export function parsePublicUuid(prefix: Parameters<typeof parseId>[0], id: string): string {
  const uuid = parseId(prefix, id);
  if (uuid === undefined) throw new Error(`A gateway sent ${JSON.stringify(id)} where the ID of a ${prefix} belongs.`);
  return uuid;
}
