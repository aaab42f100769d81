/** Divides an engine's output for a job into the pieces that its agent sends. */

import { countWords, cutAtStopString, makeSentence } from "../world/one-token-words.ts";
import type { AnswerScript } from "../world-plan.ts";
import { THINKING_TAGS } from "./catalogue.ts";

export interface OutputPiece {
  channel: "answer" | "reasoning";
  text: string;
  /** The part of the piece that is thinking. */
  thought: string;
  said: string;
}

interface Manner {
  /** How thinking is separated from the answer; null if the model does not think. */
  thinks: "by tags" | "by channel" | null;
  /** The stop string at which the engine ends the answer. */
  stop: string | null;
  /** The maximum number of words of the whole output, including thinking. */
  wordsMax: number;
}

export function splitIntoOutputPieces(script: AnswerScript, { thinks, stop, wordsMax }: Manner): OutputPiece[] {
  const thinkWords = thinks === null ? 0 : Math.min(script.thinkWords, wordsMax);
  const wordsLeft = wordsMax - thinkWords;
  const words = Math.min(countWords(cutAtStopString(makeSentence(0, script.words), stop)), wordsLeft);
  const pieces: OutputPiece[] = [];
  if (thinks === "by tags") pieces.push(...tag(THINKING_TAGS.open));
  for (const text of chunks(thinkWords, script.perDelta))
    pieces.push({ channel: thinks === "by channel" ? "reasoning" : "answer", text, thought: text, said: "" });
  if (thinks === "by tags" && (wordsLeft > 0 || thinkWords === script.thinkWords))
    pieces.push(...tag(THINKING_TAGS.close));
  for (const text of chunks(words, script.perDelta)) pieces.push({ channel: "answer", text, thought: "", said: text });
  return pieces;
}

/** Returns the tag in two halves, so that the gateway has to join them to recognise it. */
function tag(text: string): OutputPiece[] {
  const half = { channel: "answer", thought: "", said: "" } as const;
  return [
    { ...half, text: text.slice(0, 4) },
    { ...half, text: text.slice(4) },
  ];
}

function chunks(words: number, perChunk: number): string[] {
  const count = Math.ceil(words / perChunk);
  return Array.from({ length: count }, (_, i) => makeSentence(i * perChunk, Math.min(perChunk, words - i * perChunk)));
}
