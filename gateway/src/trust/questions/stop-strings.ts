/** Stop strings for canaries, like those that programs set. Users' own stop strings are text and are never kept. Pure. */
import type { RandomChoices } from "./random-choices.ts";

/** No model begins an answer with one of them, so an honest answer is never cut before it is complete. */
const STOP_STRINGS = [
  "\nUser:",
  "\nHuman:",
  "\nQuestion:",
  "\nQ:",
  "\nObservation:",
  "\nInstruction:",
  "\n\n\n",
  "User:",
  "Human:",
  "Observation:",
  "[END]",
  "</answer>",
  "<|user|>",
  "END_OF_ANSWER",
];

/** Draws this many stop strings that neither the prompt nor the right answer contains. */
export function drawStopStrings(
  d: RandomChoices,
  count: number,
  { prompt, answer }: { prompt: string; answer: string },
): string[] {
  const usable = STOP_STRINGS.filter((stop) => !prompt.includes(stop) && !answer.includes(stop));
  return d.some(Math.min(count, usable.length), usable);
}
