/**
 * Distinguishes thinking from the answer in a text that contains both (`<think>…</think>`), because stop strings apply
 * only to the answer. No text is removed, because the gateway separates the two. Marks may arrive in pieces.
 */
const OPEN = "<think>";
const CLOSE = "</think>";

export class ThinkingInText {
  #state: "unknown" | "thinking" | "answer" = "unknown";
  /** Text held back because it may be an incomplete mark: at first the opening mark, later the closing one. */
  #held = "";

  push(said: string): { thinking: string; answer: string } {
    if (this.#state === "answer") return { thinking: "", answer: said };
    if (this.#state === "thinking") return this.#think(said);
    this.#held += said;
    const start = this.#held.trimStart();
    if (OPEN.startsWith(start)) return { thinking: "", answer: "" };
    const text = this.end();
    if (!start.startsWith(OPEN)) {
      this.#state = "answer";
      return { thinking: "", answer: text };
    }
    this.#state = "thinking";
    return this.#think(text);
  }

  /** Returns the text that is still held back. */
  end(): string {
    const text = this.#state === "unknown" ? this.#held : "";
    this.#held = "";
    return text;
  }

  #think(said: string): { thinking: string; answer: string } {
    const seen = this.#held + said;
    const at = seen.indexOf(CLOSE);
    if (at === -1) {
      this.#held = seen.slice(-(CLOSE.length - 1));
      return { thinking: said, answer: "" };
    }
    this.#state = "answer";
    const cut = at + CLOSE.length - this.#held.length;
    this.#held = "";
    return { thinking: said.slice(0, cut), answer: said.slice(cut) };
  }
}
