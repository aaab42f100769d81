/**
 * Words that are one token each, alone and in sequence. The output of simulated nodes consists of them, so that the
 * auditor can count tokens without a tokenizer.
 */
const WORDS = ["river", "market", "window", "garden", "engine", "letter", "winter", "bridge", "silver", "paper"];

/** Returns this many words. Every word begins with a space, which makes it a token of its own. */
export function makeSentence(from: number, count: number): string {
  let text = "";
  for (let i = 0; i < count; i++) text += ` ${WORDS[(from + i) % WORDS.length]}`;
  return text;
}

export const countWords = (text: string): number => text.match(/\S+/g)?.length ?? 0;

/** Returns the part of a text before its stop string, or the whole text. */
export function cutAtStopString(text: string, stop: string | null): string {
  const at = stop === null ? -1 : text.indexOf(stop);
  return at < 0 ? text : text.slice(0, at);
}
