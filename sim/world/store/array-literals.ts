/** Parses and writes PostgreSQL array literals in the gateway's format (gateway/src/db/arrays.ts). */

/** Returns the array's elements as text; null for NULL. */
export function readArray(literal: string): (string | null)[] {
  const elements: (string | null)[] = [];
  let at = 1;
  while (at < literal.length - 1) {
    let text = "";
    const isQuoted = literal[at] === '"';
    if (isQuoted) {
      at += 1;
      while (literal[at] !== '"') {
        if (literal[at] === "\\") at += 1;
        text += literal[at];
        at += 1;
      }
      at += 1;
    } else {
      while (at < literal.length - 1 && literal[at] !== ",") {
        text += literal[at];
        at += 1;
      }
    }
    elements.push(!isQuoted && text === "NULL" ? null : text);
    at += 1;
  }
  return elements;
}

export const writeArray = (elements: readonly (number | bigint)[]): string => `{${elements.join(",")}}`;
