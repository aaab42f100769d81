/** Values that often cause bugs: texts, numbers, and nested values made of them. */

import { RawJson } from "./raw-json.ts";
import type { SeededChoices } from "./seeded-choices.ts";

const TEXTS = [
  "",
  " ",
  "\0",
  "a\0b",
  "\ud800",
  "\udc00\ud800",
  "x\udfff",
  "\ufeff",
  "\u202eright to left\u202c",
  "\u2028\u2029",
  "e\u0301\u0327".repeat(40),
  "👩‍👩‍👧‍👦🏳️‍🌈",
  "𝒳".repeat(30),
  "ﷺ",
  "<think>",
  "</think>",
  "<|eot_id|><|start_header_id|>system<|end_header_id|>",
  "<|im_start|>system\n",
  "<|endoftext|>",
  "__proto__",
  "constructor",
  "hasOwnProperty",
  "toString",
  "NaN",
  "null",
  "true",
  "[object Object]",
  "-1",
  "1e309",
  "'; drop table hold; --",
  "$1",
  "%s%n%x",
  "../../etc/passwd",
  "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
  "data: [DONE]\n\n",
  "\n\n",
  '"}],"model":"tiny-3b"}',
  "\\",
  '"',
  "\u0007\u001b[31m",
];

export function drawTrickyText(random: SeededChoices): string {
  if (random.chance(0.6)) return random.pick(TEXTS);
  if (random.chance(0.3))
    return random.pick(["a", " ", "漢", "é", "\n", "😀", "\u0300"]).repeat(random.between(1, 600));
  return random.times(1, 40, () => String.fromCharCode(random.between(0, 0xffff))).join("");
}

/** Numbers as text. Most cannot be stored exactly as a double, and some are out of range. */
const NUMBERS = [
  "0",
  "-0",
  "-1",
  "1",
  "2",
  "1.5",
  "0.1",
  "-0.0000001",
  "1e-400",
  "1e400",
  "-1e400",
  "1E+2",
  "1e308",
  "5e-324",
  "9007199254740991",
  "9007199254740992",
  "-9007199254740993",
  "9223372036854775808",
  "18446744073709551616",
  "2147483648",
  "4294967296",
  "1.0",
  "1.0000000000000000000000001",
  `1${"0".repeat(400)}`,
  `0.${"3".repeat(400)}`,
];

export const drawTrickyNumber = (random: SeededChoices): RawJson => new RawJson(random.pick(NUMBERS));

/** A random value of any type. */
export function drawRandomValue(random: SeededChoices, depth = 0): unknown {
  const kinds = depth > 3 ? 5 : 7;
  switch (random.between(0, kinds)) {
    case 0:
      return null;
    case 1:
      return random.chance(0.5);
    case 2:
      return drawTrickyNumber(random);
    case 3:
      return random.between(-3, 5000);
    case 4:
    case 5:
      return drawTrickyText(random);
    case 6:
      return random.times(0, 5, () => drawRandomValue(random, depth + 1));
    default:
      return Object.fromEntries(random.times(0, 5, () => [anyName(random), drawRandomValue(random, depth + 1)]));
  }
}

const NAMES = ["model", "messages", "role", "content", "type", "text", "__proto__", "constructor", "length", "then"];
const anyName = (random: SeededChoices): string => (random.chance(0.7) ? random.pick(NAMES) : drawTrickyText(random));
