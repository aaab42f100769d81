/** Reads a stream of JSON lines, whose chunks may be cut anywhere. */
import { EngineError } from "./engine.ts";

const LINE_CHARS_MAX = 1024 * 1024;

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
