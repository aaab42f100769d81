/**
 * Counts an answer while it streams and cuts it at its output cap. Answer and reasoning are two texts that share the
 * cap.
 *
 * Rule: text passes as long as the exact count of all passed text, including it, is within the cap. The first text that
 * exceeds the cap is cut between two characters, and nothing passes afterwards.
 *
 * The exact count treats the passed text as complete, so the part of a cut word counts as it is. More text can reduce a
 * count: " refactorin" has more tokens than " refactoring". So a text passes if it fits as a whole, even if a part of
 * it would not. When text is cut, the longest part passes that fits within LOOK_AHEAD_UNITS, which is more than a word.
 * (Checking longer parts too would let a node cause much work with little text.) Special tokens have no effect:
 * `<|im_end|>` in the output is ordinary text.
 */
import type { OutputChannel } from "@tollgate/protocol/frames.ts";
import { invariant } from "../base/invariant.ts";
import type { TextStream } from "./bpe/text-stream.ts";
import { isHighSurrogate, isLowSurrogate } from "./character-classes.ts";
import type { OutputCount, OutputTokenMeter } from "./token-meter.ts";

/**
 * Near the cap, text is counted in steps of this many UTF-16 units. Only the step that exceeds the cap is searched for
 * the position at which the text is cut.
 */
const CODE_UNITS_PER_STEP = 128;
export const LOOK_AHEAD_UNITS = 32;

export class CappedOutput implements OutputTokenMeter {
  readonly #tokensMax: number;
  readonly #openStream: () => TextStream;
  /** Opened when the first text of a channel arrives, because most answers use only one channel. */
  readonly #streams: Partial<Record<OutputChannel, TextStream>> = {};
  /** The channel of the latest text. */
  #channel: OutputChannel = "answer";
  /** The maximum number of this channel's tokens: the cap, less the tokens of the other channel. */
  #room: number;
  full = false;

  constructor(tokensMax: number, openStream: () => TextStream) {
    this.#tokensMax = tokensMax;
    this.#room = tokensMax;
    this.#openStream = openStream;
  }

  push(channel: OutputChannel, text: string): string {
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

  #streamOf(channel: OutputChannel): TextStream {
    const known = this.#streams[channel];
    if (known !== undefined) return known;
    const opened = this.#openStream();
    this.#streams[channel] = opened;
    return opened;
  }

  #total(channel: OutputChannel): number {
    return this.#streams[channel]?.total() ?? 0;
  }

  #pushNearCap(stream: TextStream, text: string): string {
    for (let from = 0; from < text.length; ) {
      const to = characterEnd(text, from + CODE_UNITS_PER_STEP);
      const mark = stream.mark();
      stream.push(text.slice(from, to));
      if (stream.tokensMax(0) <= this.#room || stream.total() <= this.#room) {
        from = to;
        continue;
      }
      stream.rewind(mark);
      const end = pushWithin(stream, text, { from, to, tokensMax: this.#room });
      if (end < to) {
        this.full = true;
        return text.slice(0, end);
      }
      from = end;
    }
    return text;
  }
}

interface Search {
  from: number;
  to: number;
  tokensMax: number;
}

/**
 * Pushes the part of `text` after `from` that fits: the stream then has at most `tokensMax` tokens. The whole text up
 * to `to` does not fit. Returns the end of the part that fits.
 */
function pushWithin(stream: TextStream, text: string, { from, to, tokensMax }: Search): number {
  const fits = (): boolean => stream.tokensDecided <= tokensMax && stream.total() <= tokensMax;
  // A longer text mostly has more tokens. So the bisection finds the end of a text that fits, such that one more
  // character does not fit.
  let short = from;
  for (let long = to; ; ) {
    const middle = boundaryBetween(text, short, long);
    if (middle === undefined) break;
    const mark = stream.mark();
    stream.push(text.slice(short, middle));
    if (fits()) {
      short = middle;
    } else {
      stream.rewind(mark);
      long = middle;
    }
  }
  // Looks ahead, because a slightly longer text may have fewer tokens, and so fit again.
  let mark = stream.mark();
  for (let at = short; at < text.length && at - short < LOOK_AHEAD_UNITS; ) {
    const next = at + (isInside(text, at + 1) ? 2 : 1);
    stream.push(text.slice(at, next));
    at = next;
    // `tokensDecided` never decreases while text is added, so longer texts do not fit either.
    if (stream.tokensDecided > tokensMax) break;
    if (!fits()) continue;
    short = at;
    mark = stream.mark();
  }
  stream.rewind(mark);
  return short;
}

/** A position between `short` and `long`, near their middle, that splits no character. Undefined when there is none. */
function boundaryBetween(text: string, short: number, long: number): number | undefined {
  const middle = (short + long) >> 1;
  if (middle > short && !isInside(text, middle)) return middle;
  if (middle - 1 > short) return middle - 1;
  return middle > short && middle + 1 < long ? middle + 1 : undefined;
}

/** Limits `at` to the text's end, and moves it back if it would split a character. */
const characterEnd = (text: string, at: number): number =>
  at >= text.length ? text.length : isInside(text, at) ? at - 1 : at;

/** Whether `at` splits a character. */
const isInside = (text: string, at: number): boolean =>
  at < text.length && isHighSurrogate(text.charCodeAt(at - 1)) && isLowSurrogate(text.charCodeAt(at));

/** The meter for models that return no text. */
export const noOutput: OutputTokenMeter = {
  full: true,
  push: () => "",
  end: () => ({ answerTokens: 0, reasoningTokens: 0 }),
};
