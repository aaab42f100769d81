/**
 * Divides a growing text into blocks, so that unchanged blocks need not be rendered again. Pure, except that it stores
 * the previous text.
 */

/** Returns the line numbers at which the blocks of a text begin. */
type Starts = (text: string) => number[];

/**
 * The number of blocks at the end that later text can still change: the last block, and the one before it, because the
 * first line of the last block may prove to continue it.
 */
const UNSURE = 2;

/** Returns the source texts of the blocks. Joined, they equal the whole text. */
export function blockSplitter(startsOf: Starts): (text: string) => string[] {
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
