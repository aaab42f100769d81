/**
 * Counts one answer while it streams and holds it to its cap: answer and reasoning are two texts under one cap.
 *
 * The rule: text passes as long as the exact count of everything let through, with it, is within the cap. The first text
 * that would pass the cap is cut to its longest part, between two characters, that does not, and nothing passes after
 * that. "Exact" is the count of what was let through as if it ended there, so a word that is cut counts as the cut word.
 *
 * More text can make a count smaller: " refactorin" is more tokens than " refactoring". So the rule looks at what
 * arrived together and not at every character of it: a text passes if it fits as a whole, even if a part of it would
 * not. For the same reason a text longer than STEP_UNITS is treated as several.
 *
 * Special tokens mean nothing here: a node that writes `<|im_end|>` as text has written ordinary text.
 */
import type { Channel } from "@tollgate/protocol/frames.ts";
import { invariant } from "../base/invariant.ts";
import type { TextStream } from "./bpe/text-stream.ts";
import { isHighSurrogate, isLowSurrogate } from "./classes.ts";
import type { OutputCount, OutputMeter } from "./meter.ts";

/** Bounds the search for the cut. */
const STEP_UNITS = 512;

export class CappedOutput implements OutputMeter {
  readonly #tokensMax: number;
  readonly #openStream: () => TextStream;
  /** Opened with the first text of their channel: hardly any answer has both. */
  readonly #streams: Partial<Record<Channel, TextStream>> = {};
  /** The channel that text came on last, and the tokens it may have beside the other. */
  #channel: Channel = "answer";
  #room: number;
  full = false;

  constructor(tokensMax: number, openStream: () => TextStream) {
    this.#tokensMax = tokensMax;
    this.#room = tokensMax;
    this.#openStream = openStream;
  }

  push(channel: Channel, text: string): string {
    if (this.full || text === "") return "";
    if (channel !== this.#channel) {
      this.#room = this.#tokensMax - this.#total(this.#channel);
      this.#channel = channel;
    }
    const stream = this.#streamOf(channel);
    if (stream.tokensMax(text.length) <= this.#room) {
      stream.push(text);
      return text;
    }
    return this.#pushNearCap(stream, text);
  }

  end(): OutputCount {
    const answerTokens = this.#total("answer");
    const reasoningTokens = this.#total("reasoning");
    invariant(answerTokens + reasoningTokens <= this.#tokensMax, "output passed its cap");
    return { answerTokens, reasoningTokens };
  }

  #streamOf(channel: Channel): TextStream {
    const known = this.#streams[channel];
    if (known !== undefined) return known;
    const opened = this.#openStream();
    this.#streams[channel] = opened;
    return opened;
  }

  #total(channel: Channel): number {
    return this.#streams[channel]?.total() ?? 0;
  }

  #pushNearCap(stream: TextStream, text: string): string {
    for (let from = 0; from < text.length; from += STEP_UNITS) {
      const step = text.slice(from, from + STEP_UNITS);
      const mark = stream.mark();
      stream.push(step);
      if (stream.total() <= this.#room) continue;
      stream.rewind(mark);
      const kept = longestWithin(stream, step, this.#room);
      stream.push(step.slice(0, kept));
      this.full = true;
      return text.slice(0, from + kept);
    }
    return text;
  }
}

/** The length of the longest part of `text` with which the stream has at most `tokensMax` tokens. `text` has more. */
function longestWithin(stream: TextStream, text: string, tokensMax: number): number {
  // Decided tokens never become fewer, so what decides too many is too long, and so is all that is longer.
  let tooLong = text.length;
  for (let short = 0; tooLong - short > 1; ) {
    const middle = (short + tooLong) >> 1;
    if (measure(stream, text, middle, "decided") > tokensMax) tooLong = middle;
    else short = middle;
  }
  for (let end = tooLong - 1; end > 0; end--) {
    const isInside = isHighSurrogate(text.charCodeAt(end - 1)) && isLowSurrogate(text.charCodeAt(end));
    if (!isInside && measure(stream, text, end, "total") <= tokensMax) return end;
  }
  return 0;
}

/** The stream's tokens if `text[..end)` were appended. */
function measure(stream: TextStream, text: string, end: number, what: "decided" | "total"): number {
  const mark = stream.mark();
  stream.push(text.slice(0, end));
  const tokens = what === "total" ? stream.end() : stream.tokensDecided;
  stream.rewind(mark);
  return tokens;
}

/** For a model that returns no text. */
export const noOutput: OutputMeter = {
  full: true,
  push: () => "",
  end: () => ({ answerTokens: 0, reasoningTokens: 0 }),
};
