/** Recognizes request IDs that users paste. Pure. */
const ID = /^(?:req_|chatcmpl-|cmpl-)([0-9a-hjkmnp-tv-z]{26})$/i;

/**
 * The request ID in the text, or the one that belongs to a response ID (`chatcmpl-…`): both end in the same characters.
 */
export function findRequestId(text: string): string | undefined {
  const end = ID.exec(text.trim())?.[1];
  return end === undefined ? undefined : `req_${end.toLowerCase()}`;
}
