/**
 * A solver that a dishonest host could write in an evening: it answers canaries by regular expressions, so that the
 * node seems to run a model.
 */

/** Returns the answer to a canary, or undefined if the prompt does not look like a canary. */
export function solveCanary(prompt: string): string | undefined {
  const numbers = [...prompt.matchAll(/\d+/g)].map(Number);
  const [first = 0, second = 0] = numbers;
  if (/\d+ \+ \d+|Add \d+ and \d+/.test(prompt)) return `${first + second}`;
  if (/comes next|Count on/.test(prompt)) return `${(numbers.at(-1) ?? 0) + 1}`;
  const choice = /the (first|second|third) word/.exec(prompt)?.[1];
  const words = /(\w+), (\w+), (\w+)/.exec(prompt);
  if (choice !== undefined && words !== null) return words[["first", "second", "third"].indexOf(choice) + 1];
  if (/capital of France/.test(prompt)) return "Paris";
  return /Repeat.*?: (\S+)$/.exec(prompt)?.[1];
}
