/**
 * What may be kept of the text that people send: one line of it. The database knows no NUL and no half of a character, and no
 * list shows a line break well.
 */

/** For zod's `refine`. */
export const isPlain = (text: string): boolean => !/[\p{Cc}\p{Cs}]/u.test(text);
export const PLAIN_RULE = "must not contain control characters or unpaired surrogates";

/** The same for a whole object of JSON, which the database keeps as it is. Written as JSON, both begin with one backslash. */
export const isStorable = (value: unknown): boolean =>
  !/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(JSON.stringify(value));
export const STORABLE_RULE = "must not contain the NUL character or unpaired surrogates";
