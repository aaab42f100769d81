/** How deep a value of JSON lies, and how long it is. */

/** Whether nothing in it lies deeper than so many levels. */
export function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isWithin(inner, levels - 1));
}

/** Its JSON without spaces, in UTF-8. Walks through all of it: know its depth first. */
export const jsonBytes = (value: object): number => new TextEncoder().encode(JSON.stringify(value)).length;
