/**
 * Parts thinking from answer in a build that delimits it (`<think>` … `</think>`). Thinking is recognised at the start of
 * the output only; a tag later on is text. Line breaks around the delimiters belong to neither part.
 */
import type { Channel } from "@tollgate/protocol/frames.ts";

export interface Part {
  channel: Channel;
  text: string;
}

export class ThinkingSplitter {
  readonly #open: string;
  readonly #close: string;
  #state: "start" | "thinking" | "answer" = "start";
  /** Text that may yet turn out to be a delimiter, or space before one. */
  #pending = "";
  /** Nothing of the current part was let through: leading line breaks are dropped. */
  #fresh = true;

  constructor(tags: { open: string; close: string }) {
    this.#open = tags.open;
    this.#close = tags.close;
  }

  push(text: string): Part[] {
    this.#pending += text;
    const parts: Part[] = [];
    if (this.#state === "start") this.#start();
    if (this.#state === "thinking") this.#think(parts);
    if (this.#state === "answer") this.#pass(parts, "answer", this.#take(this.#pending.length));
    return parts;
  }

  /** What was held back when the output ended. */
  end(): Part[] {
    const parts: Part[] = [];
    this.#pass(parts, this.#state === "thinking" ? "reasoning" : "answer", this.#take(this.#pending.length));
    return parts;
  }

  #start(): void {
    const text = this.#pending.trimStart();
    if (text.startsWith(this.#open)) {
      this.#pending = text.slice(this.#open.length);
      this.#state = "thinking";
    } else if (!this.#open.startsWith(text)) {
      this.#state = "answer";
      // Not a delimiter after all: the space before it was the answer's own.
      this.#fresh = false;
    }
  }

  #think(parts: Part[]): void {
    const at = this.#pending.indexOf(this.#close);
    if (at >= 0) {
      this.#pass(parts, "reasoning", this.#take(at).trimEnd());
      this.#pending = this.#pending.slice(this.#close.length);
      this.#state = "answer";
      this.#fresh = true;
      return;
    }
    // Hold back trailing space and what may be the beginning of the closing tag.
    const keep = this.#pending.length - heldBack(this.#pending, this.#close);
    this.#pass(parts, "reasoning", this.#take(this.#pending.slice(0, keep).trimEnd().length));
  }

  #take(length: number): string {
    const text = this.#pending.slice(0, length);
    this.#pending = this.#pending.slice(length);
    return text;
  }

  #pass(parts: Part[], channel: Channel, text: string): void {
    const kept = this.#fresh ? text.replace(/^[\r\n]+/, "") : text;
    if (kept === "") return;
    this.#fresh = false;
    parts.push({ channel, text: kept });
  }
}

/** The length of the longest end of `text` that `tag` begins with. */
function heldBack(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length--) {
    if (text.endsWith(tag.slice(0, length))) return length;
  }
  return 0;
}
