/** Measures the depth and length of a JSON value. */

/** Whether the value has at most this many levels. */
export function isWithinDepth(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isWithinDepth(inner, levels - 1));
}

/** The UTF-8 length of the value's JSON. Visits the whole value, so check its depth first. */
export const countJsonBytes = (value: object): number => new TextEncoder().encode(JSON.stringify(value)).length;
