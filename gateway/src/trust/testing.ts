/** For tests: what an honest model says to the questions that are made up here and to the published ones. */

/** Undefined for a question that any answer will do for. */
export function rightAnswer(prompt: string): string | undefined {
  const [, a, b] = /(\d+) (?:\+|and) (\d+)/.exec(prompt) ?? [];
  if (a !== undefined && b !== undefined) return String(Number(a) + Number(b));
  const [, last] = /\d+, \d+, (\d+)/.exec(prompt) ?? [];
  if (last !== undefined) return String(Number(last) + 1);
  const [, words, which] = /((?:[a-z]{6}(?:, )?){3})\..* (first|second|third) word/.exec(prompt) ?? [];
  if (words !== undefined && which !== undefined) return words.split(", ")[["first", "second", "third"].indexOf(which)];
  if (prompt.includes("France")) return "Paris";
  return prompt.includes("at sea") ? "A lighthouse." : undefined;
}
