/** Names of keys that are known only by id. */
import type { ApiKey } from "../api/types.ts";

/** The playground has a key for each session, which no list shows: together they are one choice among the keys. */
export const PLAYGROUND = { value: "playground", label: "Playground" };

/** Every key is listed but those of sessions. Until the list is there (undefined) a key is its id. */
export function keyName(listed: Pick<ApiKey, "id" | "name">[] | undefined, id: string): string {
  if (id === PLAYGROUND.value) return PLAYGROUND.label;
  if (listed === undefined) return id;
  return listed.find((key) => key.id === id)?.name ?? PLAYGROUND.label;
}
