/** What an honest engine answers to the questions that gateways make up: sums, the next number, one word of three; vectors by meaning. */
import { VECTOR_WIDTH } from "./catalogue.ts";

/** Undefined: this is no such question. */
export function answerTo(prompt: string): string | undefined {
  const numbers = [...prompt.matchAll(/\d+/g)].map(Number);
  const [first = 0, second = 0] = numbers;
  if (/\d+ \+ \d+|Add \d+ and \d+/.test(prompt)) return `${first + second}`;
  if (/comes next|Count on/.test(prompt)) return `${(numbers.at(-1) ?? 0) + 1}`;
  const choice = /the (first|second|third) word/.exec(prompt)?.[1];
  const words = /(\w+), (\w+), (\w+)/.exec(prompt);
  return choice === undefined ? undefined : words?.[["first", "second", "third"].indexOf(choice) + 1];
}

/** Texts that share words point one way. Whole numbers, so that every adding up is exact. */
export function meaningOf(text: string): Float32Array {
  const sum = new Float32Array(VECTOR_WIDTH);
  for (const word of text.toLowerCase().match(/\w+/g) ?? ["nothing"]) {
    let bits = 0x811c9dc5;
    for (let i = 0; i < word.length; i++) bits = Math.imul(bits ^ word.charCodeAt(i), 0x01000193);
    for (let i = 0; i < VECTOR_WIDTH; i++) {
      bits = Math.imul(bits ^ (bits >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
      sum[i] = (sum[i] as number) + ((bits >>> 16) & 1 ? 1 : -1);
    }
  }
  return sum;
}
