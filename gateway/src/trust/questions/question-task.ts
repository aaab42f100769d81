/** A question with its material and correct answer, and the check of a model's answer. Pure. */
import { findNumbers } from "./word-lists.ts";

export interface QuestionTask {
  /** The text that contains the facts for the answer. Empty if the question contains everything. */
  material: string;
  question: string;
  /** The form of the answer, such as "the name". */
  form: string;
  answer: string;
  check: Check;
}

type Check =
  /** Requires this number. Other numbers are allowed only if they are in the prompt or are intermediate steps. */
  | { kind: "number"; value: number; steps: number[] }
  /** Requires one of the right texts, and none of the wrong ones. */
  | { kind: "choice"; right: string[]; wrong: string[] }
  /** Requires this text, in upper or lower case, with only a few characters around it. */
  | { kind: "text"; right: string };

/** The most characters around the answer: enough for "Sure, here it is:", too few to list every possible answer. */
const AROUND_CHARS_MAX = 60;

/** Returns why an answer is wrong, or undefined when it is correct. */
export function findMistake(check: Check, prompt: string, answer: string): string | undefined {
  if (check.kind === "number") {
    const found = findNumbers(answer);
    if (!found.includes(check.value)) return "unexpected answer";
    const allowed = new Set([check.value, ...check.steps, ...findNumbers(prompt)]);
    return found.every((value) => allowed.has(value)) ? undefined : "more than one answer";
  }
  if (check.kind === "choice") {
    if (!check.right.some((word) => mentions(answer, word))) return "unexpected answer";
    return check.wrong.some((word) => mentions(answer, word)) ? "more than one answer" : undefined;
  }
  const right = plain(check.right);
  const said = plain(answer);
  if (!said.includes(right)) return "unexpected answer";
  return said.length > right.length + AROUND_CHARS_MAX ? "more than one answer" : undefined;
}

/** Whether an answer that repeats the prompt would pass the check. */
export function revealsAnswer(check: Check, prompt: string): boolean {
  return (
    findMistake(check, prompt, prompt) === undefined ||
    (check.kind === "number" && findNumbers(prompt).includes(check.value))
  );
}

function mentions(text: string, word: string): boolean {
  const [where, what] = [text.toLowerCase(), word.toLowerCase()];
  for (let at = where.indexOf(what); at >= 0; at = where.indexOf(what, at + 1)) {
    if (!isLetter(where[at - 1]) && !isLetter(where[at + what.length])) return true;
  }
  return false;
}

const isLetter = (char: string | undefined): boolean => char !== undefined && /[\p{L}\d]/u.test(char);
/** Lowercases the text and removes emphasis marks and white space. */
const plain = (text: string): string => text.toLowerCase().replace(/[\s*_`"“”]+/g, "");
