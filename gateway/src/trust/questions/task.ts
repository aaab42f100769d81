/** One question with its material, its right answer, and what tells a right answer from a wrong one. Pure. */
import { numbersIn } from "./words.ts";

export interface Task {
  /** What has to be read to answer; empty where the question says it all. */
  material: string;
  question: string;
  /** What an answer consists of, as "the name". */
  form: string;
  answer: string;
  check: Check;
}

type Check =
  /** The number is there; of others only those of the prompt and the steps on the way. */
  | { kind: "number"; value: number; steps: number[] }
  /** One of these is there, and none of the wrong ones. */
  | { kind: "choice"; right: string[]; wrong: string[] }
  /** The text is there, whatever its case, and not much beside it. */
  | { kind: "text"; right: string };

/** Words around a text: "Sure, here it is:". Fewer than it takes to try every answer. */
const AROUND_CHARS_MAX = 60;

/** Why an answer is wrong; undefined when it is right. */
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

/** The prompt gives the answer away to who says back what it holds. */
export function givesAway(check: Check, prompt: string): boolean {
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
/** Neither case, nor marks of emphasis, nor white space. */
const plain = (text: string): string => text.toLowerCase().replace(/[\s*_`"“”]+/g, "");
