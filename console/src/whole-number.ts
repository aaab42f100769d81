/** Parses whole numbers as users type them. Pure. */
export const WHOLE_NUMBER_MAX = 100_000_000;

/** Accepts commas between groups of digits. Undefined if the text is not a whole number, or is too large. */
export function parseWholeNumber(text: string): number | undefined {
  const digits = text.trim().replaceAll(/[,_\s]/g, "");
  const value = Number(digits);
  return /^\d+$/.test(digits) && value <= WHOLE_NUMBER_MAX ? value : undefined;
}
