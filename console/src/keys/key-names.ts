/** Finds the name of a key by its ID. */
import type { ApiKey } from "../api/types.ts";

/** The playground has an unlisted key for each session; together they are one choice among the keys. */
export const PLAYGROUND = { value: "playground", label: "Playground" };

/** All keys but those of sessions are listed. While the list is not loaded (undefined), the ID is shown. */
export function keyName(listed: Pick<ApiKey, "id" | "name">[] | undefined, id: string): string {
  if (id === PLAYGROUND.value) return PLAYGROUND.label;
  if (listed === undefined) return id;
  return listed.find((key) => key.id === id)?.name ?? PLAYGROUND.label;
}
