/** Suggests the word that a user probably meant. */

/** The known word with the fewest typing mistakes. Undefined if all words differ too much. */
export function findNearestWord(word: string, known: readonly string[]): string | undefined {
  const [first] = known
    .map((one) => ({ one, slips: one.startsWith(word) && word.length > 1 ? 1 : slipsBetween(word, one) }))
    .filter(({ one, slips }) => slips <= Math.max(1, Math.floor(Math.min(word.length, one.length) / 2)))
    .sort((a, b) => a.slips - b.slips);
  return first?.one;
}

/** The number of inserted, omitted, changed and swapped letters between two words. */
function slipsBetween(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i++) {
    rows.push([i]);
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const ways = [at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (same ? 0 : 1)];
      if (swapped) ways.push(at(i - 2, j - 2) + 1);
      (rows[i] as number[]).push(Math.min(...ways));
    }
  }
  return at(a.length, b.length);
}
