/** Spells bytes as a byte-level vocabulary does: with one printable character for each. */
const SPELLINGS: string[] = [];
let next = 256;
for (let byte = 0; byte < 256; byte++) {
  const isPrintable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  SPELLINGS.push(String.fromCodePoint(isPrintable ? byte : next++));
}

export const spellBytes = (bytes: Iterable<number>): string => Array.from(bytes, (byte) => SPELLINGS[byte]).join("");
