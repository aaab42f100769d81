/** Finds the name of a key by its ID. */
import type { ApiKey } from "../api/answer-types.ts";

/** The playground uses an unlisted key per session. Lists and filters show these keys as one choice. */
export const PLAYGROUND_KEY_CHOICE = { value: "playground", label: "Playground" };

/** The list contains all keys except those of playground sessions. Until it is loaded (undefined), the ID is shown. */
export function findKeyName(listed: Pick<ApiKey, "id" | "name">[] | undefined, id: string): string {
  if (id === PLAYGROUND_KEY_CHOICE.value) return PLAYGROUND_KEY_CHOICE.label;
  if (listed === undefined) return id;
  return listed.find((key) => key.id === id)?.name ?? PLAYGROUND_KEY_CHOICE.label;
}
