/**
 * Checks text in requests. PostgreSQL cannot store NUL and unpaired surrogates, and names with line breaks would break
 * lists.
 */

/** Whether text has no control characters and no unpaired surrogates. For zod's `refine`. */
export const isPlainText = (text: string): boolean => !/[\p{Cc}\p{Cs}]/u.test(text);
export const PLAIN_TEXT_RULE = "must not contain control characters or unpaired surrogates";

/**
 * Whether PostgreSQL can store a JSON object unchanged. In JSON text, a NUL or an unpaired surrogate is an escape
 * sequence after a single backslash.
 */
export const isStorable = (value: unknown): boolean =>
  !/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(JSON.stringify(value));
export const STORABLE_RULE = "must not contain the NUL character or unpaired surrogates";
