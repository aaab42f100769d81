/** Texts and checks that several families of questions use. */
import type { QuestionTask } from "./question-task.ts";
import type { RandomChoices } from "./random-choices.ts";
import * as words from "./word-lists.ts";

export const list = (items: readonly string[], and = "and"): string =>
  items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} ${and} ${items.at(-1)}`;
export const number = (d: RandomChoices, value: number): string =>
  d.percent(50) ? String(value) : words.spellNumber(value);
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
export const sentences = (parts: string[]): string => parts.map((part) => `${capital(part)}.`).join(" ");
export const choice = (
  right: string,
  all: readonly string[],
  named: readonly string[] = [],
): QuestionTask["check"] => ({
  kind: "choice",
  right: [right],
  wrong: all.filter((each) => each !== right && !named.includes(each)),
});
