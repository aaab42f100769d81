/** How a byte-level vocabulary spells bytes: each as one printable character. */
const BYTE_OF = new Map<string, number>();
let next = 256;
for (let byte = 0; byte < 256; byte++) {
  const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  BYTE_OF.set(String.fromCodePoint(printable ? byte : next++), byte);
}
const SPELLING_OF = new Map([...BYTE_OF].map(([letter, byte]) => [byte, letter]));

export const spelled = (bytes: Iterable<number>): string => Array.from(bytes, (byte) => SPELLING_OF.get(byte)).join("");

/** The bytes of a token; undefined for one that is not spelled that way. */
export function bytesOf(token: string): Uint8Array | undefined {
  const bytes = Array.from(token, (letter) => BYTE_OF.get(letter));
  return bytes.every((byte) => byte !== undefined) ? Uint8Array.from(bytes) : undefined;
}
