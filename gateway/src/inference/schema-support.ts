/** Refuses a JSON schema whose keywords no connected node enforces. */
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import { invalidRequest } from "../faults.ts";
import type { ParsedRequest } from "./endpoint.ts";

export const SCHEMA_FIELD = "response_format.json_schema.schema";

/**
 * Throws a 400 that names the keyword and its position. If no node enforces formats at all, dispatch returns 503
 * instead.
 */
export function requireSchemaKeywords(
  dispatcher: Pick<Dispatcher, "keepsFormat" | "unkeptKeyword">,
  { keywords }: Pick<ParsedRequest, "keywords">,
  model: string,
): void {
  if (keywords.length === 0 || !dispatcher.keepsFormat(model)) return;
  const unkept = dispatcher.unkeptKeyword(model, keywords);
  if (unkept === undefined) return;
  const { keyword, place } = unkept;
  throw invalidRequest(
    SCHEMA_FIELD,
    `"${SCHEMA_FIELD}" uses the keyword "${keyword}" at ${place} in a way that no connected node for "${model}" supports. Remove the keyword, or use it in a simpler way.`,
    undefined,
    {
      message: `"${SCHEMA_FIELD}" uses a JSON Schema keyword in a way that no connected node for model "${model}" supports.`,
    },
  );
}
