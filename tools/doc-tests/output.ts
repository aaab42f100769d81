/**
 * Compares what a block printed with what its page says. `…` stands for any text within a line, a line of `…` alone for any lines.
 * Spaces at the ends of lines and blank lines at the end do not count. Pure.
 */
const ANY = "…";

export function matches(expected: string, actual: string): boolean {
  return fits(linesOf(expected), linesOf(actual), { isAny: (line) => line.trim() === ANY, same: lineMatches });
}

/** Both beside each other, line by line; `≠` marks the lines that differ. */
export function sideBySide(expected: string, actual: string): string {
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

/** Whether the actual parts are the expected ones, each wildcard of which takes any number of them. */
function fits(expected: string[], actual: string[], { isAny, same }: Rules): boolean {
  let [e, a] = [0, 0];
  /** Where to go on when what follows the last wildcard does not fit: it takes one part more. */
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

/** A line of `…` stands beside every line up to the first that fits the expected line after it; where none does, that one is alone. */
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
