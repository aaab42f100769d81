/** The two framings of engines' streams, whose chunks may be cut anywhere: server-sent events and JSON lines. */
import { EngineError } from "./engine.ts";

const LINE_CHARS_MAX = 1024 * 1024;

/** Server-sent events: the `data`, and comments for who wants them. */
export class SseReader {
  readonly #decoder = new TextDecoder();
  readonly #comment: (text: string) => void;
  #line = "";
  #data: string[] = [];
  #dataChars = 0;
  #afterReturn = false;

  constructor(comment: (text: string) => void = () => {}) {
    this.#comment = comment;
  }

  /** The data of every event that these bytes complete. */
  push(bytes: Uint8Array): string[] {
    return this.#read(this.#decoder.decode(bytes, { stream: true }));
  }

  /** The stream is over. Some engines leave out the blank line after the last event. */
  end(): string[] {
    return this.#read("\n\n");
  }

  #read(text: string): string[] {
    const events: string[] = [];
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      const isReturn = unit === 13;
      if (!isReturn && unit !== 10) {
        this.#afterReturn = false;
        continue;
      }
      // A line ends with a return, a line feed, or both, and both may come apart.
      if (isReturn || !this.#afterReturn) this.#endLine(this.#line + text.slice(from, at), events);
      this.#afterReturn = isReturn;
      this.#line = "";
      from = at + 1;
    }
    this.#line += text.slice(from);
    if (this.#line.length > LINE_CHARS_MAX) throw new EngineError("engine", "the engine's stream has an endless line");
    return events;
  }

  #endLine(line: string, events: string[]): void {
    if (line === "") {
      if (this.#data.length > 0) events.push(this.#data.join("\n"));
      this.#data = [];
      this.#dataChars = 0;
      return;
    }
    if (line.startsWith(":")) this.#comment(line.slice(1));
    if (!line.startsWith("data:")) return;
    const data = line.slice(line.charAt(5) === " " ? 6 : 5);
    this.#dataChars += data.length;
    if (this.#dataChars > LINE_CHARS_MAX) throw new EngineError("engine", "the engine's stream has an endless event");
    this.#data.push(data);
  }
}

/** JSON lines. */
export class NdjsonReader {
  readonly #decoder = new TextDecoder();
  #line = "";

  /** Every line that these bytes complete. */
  push(bytes: Uint8Array): string[] {
    return this.#read(this.#decoder.decode(bytes, { stream: true }));
  }

  /** The stream is over; its last line may lack its end. */
  end(): string[] {
    return this.#read("\n");
  }

  #read(text: string): string[] {
    const lines = text.split("\n");
    lines[0] = this.#line + lines[0];
    this.#line = lines.pop() ?? "";
    if (this.#line.length > LINE_CHARS_MAX) throw new EngineError("engine", "the engine's stream has an endless line");
    return lines.filter((line) => line.trim() !== "");
  }
}
