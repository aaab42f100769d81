/** Restricts text in requests to one line. PostgreSQL cannot store NUL and unpaired surrogates, and line breaks do not fit into lists. */

/** For zod's `refine`. */
export const isPlain = (text: string): boolean => !/[\p{Cc}\p{Cs}]/u.test(text);
export const PLAIN_RULE = "must not contain control characters or unpaired surrogates";

/** The same for a JSON object, which is stored unchanged. In JSON both begin with a single backslash. */
export const isStorable = (value: unknown): boolean =>
  !/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(JSON.stringify(value));
export const STORABLE_RULE = "must not contain the NUL character or unpaired surrogates";
