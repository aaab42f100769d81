/**
 * Text that grows by small parts. Adding string to string leaves a chain with a link for every part, which takes far more
 * memory than its text and, when it is read at last, a long time at once. Here parts are joined for good now and then.
 */
const LOOSE_MAX = 256;

export class TextPile {
  #firm: string[] = [];
  #loose: string[] = [];

  add(part: string): void {
    this.#loose.push(part);
    if (this.#loose.length === LOOSE_MAX) this.#join();
  }

  clear(): void {
    this.#firm = [];
    this.#loose = [];
  }

  toString(): string {
    this.#join();
    // Blocks become fewer and longer by joining all of them: what is asked for again costs nothing more.
    this.#firm = [this.#firm.join("")];
    return this.#firm[0] as string;
  }

  #join(): void {
    if (this.#loose.length === 0) return;
    this.#firm.push(this.#loose.join(""));
    this.#loose = [];
  }
}
