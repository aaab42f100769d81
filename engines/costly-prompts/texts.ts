/** Texts that cost a tokenizer more than others of the same number of tokens. */
import { hostileTexts } from "../../bench/metering/sample-texts.ts";
import { CHARACTER_RUN_MAX } from "../../gateway/src/inference/long-character-runs.ts";

/** Repeats the text up to this many bytes in UTF-8. */
const filled = (text: string, bytes: number): string => text.repeat(Math.ceil(bytes / Buffer.byteLength(text)));

/** The same bytes in every run. */
function pseudoRandomBytes(count: number): Buffer {
  let state = 1;
  return Buffer.from(
    Uint8Array.from({ length: count }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return state >>> 24;
    }),
  );
}

/** Runs of the longest allowed length, each ended by another character. */
const runs = (char: string, bytes: number): string => filled(`${char.repeat(CHARACTER_RUN_MAX)}.`, bytes);

export function costlyTexts(bytes: number): Record<string, string> {
  const noise = pseudoRandomBytes(bytes);
  const {
    "one letter": _letter,
    spaces: _spaces,
    newlines: _newlines,
    "spaces, newlines": _both,
    dashes: _dashes,
    "one Chinese character": _chinese,
    emoji: _emoji,
    "halves of characters": _halves,
    ...others
  } = hostileTexts(bytes);
  return {
    "the longest allowed runs of line breaks": runs("\n", bytes),
    "… of spaces": runs(" ", bytes),
    "… of tabs": runs("\t", bytes),
    "… of ideographic spaces": runs("\u3000", bytes / 3),
    "… of one letter": runs("a", bytes),
    "… of dashes": runs("-", bytes),
    "… of one Chinese character": runs("的", bytes / 3),
    "… of one emoji": runs("😀", bytes / 4),
    "… of half a character": runs("\ud800", bytes / 3),
    "… of a character without width": runs("\u200b", bytes / 3),
    ...others,
    "two letters in turn": filled("ab", bytes),
    "three letters in turn": filled("abc", bytes),
    "a space and a line break in turn, a dot in 8,000": filled(`${" \n".repeat(8_000)}.`, bytes),
    digits: filled("0123456789", bytes),
    "random digits": [...noise.subarray(0, bytes >> 1)].map((byte) => byte % 10).join(""),
    "base64 without line breaks": noise.toString("base64"),
    hexadecimal: noise.subarray(0, bytes >> 1).toString("hex"),
    "punctuation without spaces": filled("!?;:,.-_/\\|[]{}()<>@#$%^&*+=~`'\"", bytes),
    "brackets in turn": filled("([{<", bytes),
    "apostrophes and letters": filled("'s't're've'm'll'd", bytes),
    "a letter with many marks": filled(`a${"\u0301\u0316\u0489".repeat(5_000)} `, bytes),
    "joined emoji (families)": filled("👨‍👩‍👧‍👦", bytes),
    flags: filled("🇩🇪🇫🇷", bytes),
    "skin tones": filled("👍🏽👍🏿", bytes),
    "control characters": filled("\u0001\u0002\u0003\u0004\u0005\u0006\u0007", bytes),
    "zero characters": filled("\u0000a", bytes),
    "characters without width in turn": filled("\u200b\u200d\ufeff", bytes),
    "halves of characters in turn": filled("\ud800\ud801", bytes),
    "private characters": filled("\ue000\ue001\uf8ff", bytes),
    "characters of four bytes": filled("𓀀𓁐𠀀𡃁", bytes),
    "Arabic ligatures": filled("ﷺ﷽", bytes),
    Hangul: filled("뷁쀍쮓", bytes),
    Tibetan: filled("བོད་སྐད་", bytes),
    "special tokens as text": filled("<|eot_id|>", bytes),
    "different special tokens": filled("<|start_header_id|>user<|end_header_id|><|reserved_special_token_5|>", bytes),
    "SentencePiece's space": filled("▁", bytes),
    "byte tokens as text": filled("<0x0A>", bytes),
    "one word of every letter": filled("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", bytes),
    "words of 1,000 letters": filled(`${"internationalisation".repeat(50)} `, bytes),
    "lines of 100 spaces": filled(`${" ".repeat(100)}\n.`, bytes),
    "very long lines with spaces": filled("a ", bytes),
  };
}
