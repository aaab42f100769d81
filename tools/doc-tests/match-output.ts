/**
 * Compares the output of a code block with the text in its page. `…` stands for any text within a line, a line of only
 * `…` for any lines. Spaces at the ends of lines and blank lines at the end are ignored. Pure functions.
 */
const ANY = "…";

export function matchesOutput(expected: string, actual: string): boolean {
  return fits(linesOf(expected), linesOf(actual), { isAny: (line) => line.trim() === ANY, same: lineMatches });
}

/** Prints both texts in two columns; `≠` marks the lines that differ. */
export function formatSideBySide(expected: string, actual: string): string {
  const rows = aligned(linesOf(expected), linesOf(actual));
  const width = Math.max(...rows.map(([left]) => left.length), "expected".length);
  const line = (mark: string, left: string, right: string): string =>
    `${mark} ${left.padEnd(width)} | ${right}`.trimEnd();
  const shown = rows.map(([left, right, isSame]) => line(isSame ? " " : "≠", left, right));
  return [line(" ", "expected", "actual"), ...shown].join("\n");
}

const linesOf = (text: string): string[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => line.trimEnd());

const lineMatches = (expected: string, actual: string): boolean =>
  fits([...expected], [...actual], { isAny: (sign) => sign === ANY, same: (a, b) => a === b });

interface Rules {
  isAny(part: string): boolean;
  same(expected: string, actual: string): boolean;
}

/** Returns whether the actual parts match the expected ones; a wildcard matches any number of parts. */
function fits(expected: string[], actual: string[], { isAny, same }: Rules): boolean {
  let [e, a] = [0, 0];
  /**
   * The place of the last wildcard: if the parts after it do not match, the search continues there with one more part
   * matched by the wildcard.
   */
  let last: { e: number; a: number } | undefined;
  while (a < actual.length) {
    const want = expected[e];
    if (want !== undefined && isAny(want)) {
      last = { e, a };
      e += 1;
    } else if (want !== undefined && same(want, actual[a] as string)) {
      e += 1;
      a += 1;
    } else if (last !== undefined) {
      last.a += 1;
      [e, a] = [last.e + 1, last.a];
    } else return false;
  }
  return expected.slice(e).every(isAny);
}

/**
 * Aligns both texts for printing. A line of `…` covers every line up to the first that matches the next expected line;
 * if none does, it is printed alone.
 */
function aligned(expected: string[], actual: string[]): [string, string, boolean][] {
  const rows: [string, string, boolean][] = [];
  let a = 0;
  let isLost = false;
  expected.forEach((want, e) => {
    if (want.trim() !== ANY) {
      const got = isLost ? undefined : actual[a++];
      rows.push([want, got ?? "", got !== undefined && lineMatches(want, got)]);
      return;
    }
    const next = expected[e + 1];
    const end = next === undefined ? actual.length : actual.findIndex((line, i) => i >= a && lineMatches(next, line));
    isLost = end < 0;
    for (; a < end; a += 1) rows.push([ANY, actual[a] as string, true]);
  });
  for (const line of actual.slice(a)) rows.push(["", line, false]);
  return rows;
}
