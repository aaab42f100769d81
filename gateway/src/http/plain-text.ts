/** What may be kept of the text that people send: one line of it. The store knows no NUL, and no list shows a line break well. */

/** For zod's `refine`. */
export const isPlain = (text: string): boolean => !/\p{Cc}/u.test(text);
export const PLAIN_RULE = "must not hold control characters";

/** The same for a whole object of JSON, which the store keeps as it is: no NUL anywhere in it. */
export const isStorable = (value: unknown): boolean => !JSON.stringify(value).includes("\\u0000");
export const STORABLE_RULE = "must not hold the character NUL";
