/**
 * A text that grows, cut into its blocks: those that did not change need not be drawn again. Pure but for what it remembers of the
 * text before.
 */

/** The lines at which the blocks of a text begin. */
type Starts = (text: string) => number[];

/** More text can still change the last block, and through the first line of that the one before it. */
const UNSURE = 2;

/** Gives the blocks' texts; together they are the whole. */
export function pieceReader(startsOf: Starts): (text: string) => string[] {
  let before = "";
  let starts: number[] = [];
  return (text) => {
    const sure = text.startsWith(before) ? Math.max(0, starts.length - UNSURE) : 0;
    const from = sure === 0 ? 0 : (starts[sure] ?? 0);
    const lines = lineStarts(text, from);
    starts = [...starts.slice(0, sure), ...startsOf(text.slice(from)).map((line) => lines[line] ?? from)];
    before = text;
    return starts.map((start, i) => text.slice(i === 0 ? 0 : start, starts[i + 1] ?? text.length));
  };
}

function lineStarts(text: string, from: number): number[] {
  const lines = [from];
  const ends = /\r\n?|\n/g;
  ends.lastIndex = from;
  while (ends.exec(text) !== null) lines.push(ends.lastIndex);
  return lines;
}
