/** Parses whole numbers as users type them. Pure. */
export const WHOLE_NUMBER_MAX = 100_000_000;

/** Digits alone, or in groups of three. Other commas may be decimal commas. */
const WHOLE = /^(\d+|\d{1,3}([,_\s]\d{3})+)$/;

/** Undefined if the text is not a whole number, or is too large. */
export function parseWholeNumber(text: string): number | undefined {
  if (!WHOLE.test(text.trim())) return undefined;
  const value = Number(text.replaceAll(/[,_\s]/g, ""));
  return value <= WHOLE_NUMBER_MAX ? value : undefined;
}
