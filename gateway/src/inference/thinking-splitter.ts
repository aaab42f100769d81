/**
 * Separates thinking from the answer for models that delimit it (`<think>` … `</think>`). Thinking is recognized only
 * at the start of the output; later tags are text. If the chat template has opened it, the output begins inside it,
 * with or without a repeated opening tag, and is thinking up to the first closing tag. White space before a tag and
 * line breaks after it belong to neither part. Their length is limited, so that a node cannot send endless text that is
 * stored or not counted. Only little text is held back, so that each character is read a fixed number of times.
 */
import type { OutputChannel } from "@tollgate/protocol/frames.ts";

interface Part {
  channel: OutputChannel;
  text: string;
}

/** The maximum number of white-space characters that are dropped before a tag, and after it. */
export const WHITE_SPACE_AROUND_TAG_MAX = 64;

export class ThinkingSplitter {
  readonly #open: string;
  readonly #close: string;
  #isOpened: boolean;
  #state: "start" | "thinking" | "answer" = "start";
  /** Text that may become a tag, or white space before one. It is short after each `push`. */
  #pending = "";
  /** How many line breaks after a tag may still be dropped. */
  #breaksLeft: number;

  constructor(tags: { open: string; close: string }, { isOpened }: { isOpened: boolean }) {
    this.#open = tags.open;
    this.#close = tags.close;
    this.#isOpened = isOpened;
    this.#breaksLeft = isOpened ? WHITE_SPACE_AROUND_TAG_MAX : 0;
  }

  /**
   * The engine separates thinking itself. So even if the template opened the thinking, text in the answer channel is
   * the answer.
   */
  isApart(): void {
    if (!this.#isOpened || this.#state !== "start") return;
    this.#isOpened = false;
    this.#breaksLeft = 0;
  }

  push(text: string): Part[] {
    this.#pending += text;
    const parts: Part[] = [];
    if (this.#state === "start") this.#start();
    if (this.#state === "thinking") this.#think(parts);
    if (this.#state === "answer") this.#pass(parts, "answer", this.#take(this.#pending.length));
    return parts;
  }

  /**
   * The held-back text at the end of the output. If the output broke off, the text could have become a tag, so it
   * belongs to neither part and is not charged.
   */
  end({ isWhole }: { isWhole: boolean }): Part[] {
    const parts: Part[] = [];
    if (!isWhole) this.#pending = "";
    const isThinking = this.#state === "thinking" || (this.#state === "start" && this.#isOpened);
    this.#pass(parts, isThinking ? "reasoning" : "answer", this.#take(this.#pending.length));
    return parts;
  }

  #start(): void {
    const text = this.#pending.trimStart();
    const space = this.#pending.length - text.length;
    if (space <= WHITE_SPACE_AROUND_TAG_MAX && text.startsWith(this.#open)) {
      this.#pending = text.slice(this.#open.length);
      this.#state = "thinking";
      this.#breaksLeft = WHITE_SPACE_AROUND_TAG_MAX;
    } else if (space > WHITE_SPACE_AROUND_TAG_MAX || !this.#open.startsWith(text)) {
      // The text is not a tag, so the white space before it belongs to the text.
      this.#state = this.#isOpened ? "thinking" : "answer";
    }
  }

  #think(parts: Part[]): void {
    const at = this.#pending.indexOf(this.#close);
    if (at >= 0) {
      const space = spaceBefore(this.#pending, at);
      this.#pass(parts, "reasoning", this.#take(at - space));
      this.#take(space + this.#close.length);
      this.#state = "answer";
      this.#breaksLeft = WHITE_SPACE_AROUND_TAG_MAX;
      return;
    }
    // Holds back what may be the start of the closing tag, and the white space before it.
    const end = this.#pending.length - heldBack(this.#pending, this.#close);
    this.#pass(parts, "reasoning", this.#take(end - spaceBefore(this.#pending, end)));
  }

  #take(length: number): string {
    const text = this.#pending.slice(0, length);
    this.#pending = this.#pending.slice(length);
    return text;
  }

  #pass(parts: Part[], channel: OutputChannel, text: string): void {
    let from = 0;
    while (this.#breaksLeft > 0 && from < text.length) {
      if (text[from] === "\n" || text[from] === "\r") {
        this.#breaksLeft--;
        from++;
      } else {
        this.#breaksLeft = 0;
      }
    }
    if (from < text.length) parts.push({ channel, text: text.slice(from) });
  }
}

/** The length of the white space before `end` that may be dropped. */
function spaceBefore(text: string, end: number): number {
  const near = text.slice(Math.max(0, end - WHITE_SPACE_AROUND_TAG_MAX), end);
  return near.length - near.trimEnd().length;
}

/** The length of the longest end of `text` with which `tag` begins. */
function heldBack(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length--) {
    if (text.endsWith(tag.slice(0, length))) return length;
  }
  return 0;
}
