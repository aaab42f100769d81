/** A question with its material, its correct answer, and the check of an answer. Pure. */
import { numbersIn } from "./words.ts";

export interface Task {
  /** The text to read for the answer; empty if the question contains everything. */
  material: string;
  question: string;
  /** What the answer consists of, such as "the name". */
  form: string;
  answer: string;
  check: Check;
}

type Check =
  /** The answer has this number, and otherwise only numbers of the prompt and the steps. */
  | { kind: "number"; value: number; steps: number[] }
  /** The answer has one of the right texts and none of the wrong ones. */
  | { kind: "choice"; right: string[]; wrong: string[] }
  /** The answer has this text in any case, with few words around it. */
  | { kind: "text"; right: string };

/** Allows words such as "Sure, here it is:", but too few to list every answer. */
const AROUND_CHARS_MAX = 60;

/** Why an answer is wrong; undefined when it is correct. */
export function wrongIn(check: Check, prompt: string, answer: string): string | undefined {
  if (check.kind === "number") {
    const found = numbersIn(answer);
    if (!found.includes(check.value)) return "unexpected answer";
    const allowed = new Set([check.value, ...check.steps, ...numbersIn(prompt)]);
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

/** Whether repeating the prompt would pass. */
export function revealsAnswer(check: Check, prompt: string): boolean {
  return (
    wrongIn(check, prompt, prompt) === undefined || (check.kind === "number" && numbersIn(prompt).includes(check.value))
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
/** Removes case, emphasis marks and white space. */
const plain = (text: string): string => text.toLowerCase().replace(/[\s*_`"“”]+/g, "");
