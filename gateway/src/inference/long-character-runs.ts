/**
 * Refuses long runs of white space or of one character, which cost an engine's tokenizer more than their tokens
 * suggest. With llama.cpp and the demo model, 200,000 line breaks took 12.8 s, in which the engine seemed silent;
 * 100,000 took 2.0 s and 16,384 took 0.1 s. The same text in runs of 16,384 took 0.3 s, as fast as prose. So runs are
 * limited, and not the whole text.
 */
import { ruleViolation } from "../faults.ts";
import type { ParsedRequest } from "./endpoint.ts";

export const CHARACTER_RUN_MAX = 16_384;
/**
 * The distance of the positions that are checked. A run that is too long covers two of them, so only their surroundings
 * are read.
 */
const STRIDE = CHARACTER_RUN_MAX / 2;
const SPACE = /\s/;

/** Throws a 400 that names the field which contains a long run. */
export function refuseLongCharacterRuns({ prompt, promptField }: Pick<ParsedRequest, "prompt" | "promptField">): void {
  if (prompt.kind === "text") refuse(prompt.text, promptField);
  else if (prompt.kind === "chat")
    for (const [i, { content }] of prompt.messages.entries()) refuse(content, `${promptField}[${i}].content`);
  else
    for (const [i, text] of prompt.texts.entries())
      refuse(text, prompt.texts.length > 1 ? `${promptField}[${i}]` : promptField);
}

function refuse(text: string, field: string): void {
  if (!hasLongCharacterRun(text)) return;
  throw ruleViolation(
    field,
    `must not have more than ${CHARACTER_RUN_MAX} identical or white-space characters in a row. Shorten this part.`,
  );
}

/** Whether the text has a run that is too long. Tests pass `looked` to count the characters that are read. */
export function hasLongCharacterRun(text: string, looked: (chars: number) => void = () => {}): boolean {
  for (let at = STRIDE; at < text.length; at += STRIDE) {
    const code = text.charCodeAt(at);
    const isSpace = SPACE.test(text[at] as string);
    const belongs = (i: number): boolean => text.charCodeAt(i) === code || (isSpace && SPACE.test(text[i] as string));
    let from = at;
    let to = at + 1;
    while (from > 0 && at - from <= CHARACTER_RUN_MAX && belongs(from - 1)) from--;
    while (to < text.length && to - from <= CHARACTER_RUN_MAX && belongs(to)) to++;
    looked(to - from);
    if (to - from > CHARACTER_RUN_MAX) return true;
  }
  return false;
}
