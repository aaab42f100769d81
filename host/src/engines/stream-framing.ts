/**
 * Parses the two kinds of engine streams, server-sent events and JSON lines. The input arrives in chunks that may end
 * anywhere.
 */
import { isAscii } from "node:buffer";
import { EngineError } from "./engine.ts";

const LINE_CHARS_MAX = 1024 * 1024;

/**
 * Decodes UTF-8 from chunks that may end within a character. ASCII chunks, which are the most common, are decoded
 * faster.
 */
class Utf8Pieces {
  /**
   * Keeps byte order marks. `read` drops one at the beginning of the stream, as the standard requires. The decoder
   * cannot, because ASCII chunks bypass it, so its first chunk may be a later one.
   */
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #begun = false;
  /** Whether the decoder holds the beginning of a character. */
  #holds = false;

  read(bytes: Uint8Array): string {
    if (bytes.length === 0) return "";
    const begins = !this.#begun;
    if (!this.#holds && isAscii(bytes)) {
      this.#begun = true;
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
    }
    const text = this.#decoder.decode(bytes, { stream: true });
    this.#holds = (bytes[bytes.length - 1] as number) >= 0x80;
    this.#begun ||= text !== "";
    return begins && text.startsWith("\ufeff") ? text.slice(1) : text;
  }
}

const firstLineFeed = (text: string, from: number): number => text.indexOf("\n", from);

function firstLineEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === 10 || unit === 13) return at;
  }
  return -1;
}

/** Parses server-sent events: their `data`, and optionally comments. */
export class SseReader {
  readonly #utf8 = new Utf8Pieces();
  readonly #comment: (text: string) => void;
  #line = "";
  #data: string[] = [];
  #dataChars = 0;
  #afterReturn = false;

  constructor(comment: (text: string) => void = () => {}) {
    this.#comment = comment;
  }

  /** Returns the data of every event that these bytes complete. */
  push(bytes: Uint8Array): string[] {
    return this.#read(this.#utf8.read(bytes));
  }

  /** Returns the last event at the end of the stream. Some engines omit the blank line after it. */
  end(): string[] {
    return this.#read("\n\n");
  }

  #read(text: string): string[] {
    const events: string[] = [];
    const lineEnd = text.includes("\r") ? firstLineEnd : firstLineFeed;
    let from = 0;
    for (let at = lineEnd(text, 0); at !== -1; at = lineEnd(text, from)) {
      const isReturn = text.charCodeAt(at) === 13;
      // A line ends with CR, LF or CRLF. A chunk may end between CR and LF.
      const isRest = !isReturn && this.#afterReturn && at === from && this.#line === "";
      if (!isRest) this.#endLine(this.#line + text.slice(from, at), events);
      this.#afterReturn = isReturn;
      this.#line = "";
      from = at + 1;
    }
    if (from < text.length) {
      this.#afterReturn = false;
      this.#line += text.slice(from);
    }
    if (this.#line.length > LINE_CHARS_MAX)
      throw new EngineError("engine", "the engine's stream has a line that is too long");
    return events;
  }

  #endLine(line: string, events: string[]): void {
    if (line === "") {
      if (this.#data.length === 0) return;
      events.push(this.#data.length === 1 ? (this.#data[0] as string) : this.#data.join("\n"));
      this.#data = [];
      this.#dataChars = 0;
      return;
    }
    if (line.startsWith(":")) this.#comment(line.slice(1));
    if (!line.startsWith("data:")) return;
    const data = line.slice(line.charAt(5) === " " ? 6 : 5);
    this.#dataChars += data.length;
    if (this.#dataChars > LINE_CHARS_MAX)
      throw new EngineError("engine", "the engine's stream has an event that is too long");
    this.#data.push(data);
  }
}

/** Parses JSON lines. */
export class NdjsonReader {
  readonly #utf8 = new Utf8Pieces();
  #line = "";

  /** Returns every line that these bytes complete. */
  push(bytes: Uint8Array): string[] {
    return this.#read(this.#utf8.read(bytes));
  }

  /** Returns the last line at the end of the stream, which may lack its line feed. */
  end(): string[] {
    return this.#read("\n");
  }

  #read(text: string): string[] {
    const lines = text.split("\n");
    lines[0] = this.#line + lines[0];
    this.#line = lines.pop() ?? "";
    if (this.#line.length > LINE_CHARS_MAX)
      throw new EngineError("engine", "the engine's stream has a line that is too long");
    return lines.filter((line) => line.trim() !== "");
  }
}
