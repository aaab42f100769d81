/**
 * Parses one HTTP/1.1 response (RFC 9112) from reads that may end anywhere. Interim responses, trailers and chunk
 * extensions are skipped. A response that violates the standard is refused, because an ambiguous one is a security
 * risk. Engines send each event as an HTTP chunk, and a read contains many chunks: their data is moved together within
 * the read's memory and passed on at once.
 */

/**
 * The size limit for the head including interim responses, for the trailers, and for a chunk's extensions. The same as
 * Node's.
 */
const HEAD_BYTES_MAX = 16 * 1024;
/** The number of bytes that are first searched for the end of the head. */
const HEAD_BYTES_USUAL = 1024;
/** A chunk size with more hexadecimal digits may not be an exact integer in JavaScript. */
const SIZE_DIGITS_MAX = 13;
const CR = 13;
const LF = 10;
const SEMICOLON = 59;
const HEAD_END = "\r\n\r\n";
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\r\n\0]*)?$/;
const FIELD_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\r\n\0]*?)[ \t]*$/;
const FOLD = /\r\n[ \t]+/g;

class MalformedAnswer extends Error {
  override name = "MalformedAnswer";
}

export interface AnswerHead {
  status: number;
  /** The header fields by lower-case name. Repeated fields are joined with a comma. */
  fields: ReadonlyMap<string, string>;
  /** Whether the connection can be reused. */
  persists: boolean;
  /** How the end of the body is recognized: by chunks, by length or by the closed connection. */
  body: "chunks" | "length" | "close" | "none";
  length: number;
}

type Place =
  | "head"
  | "size"
  | "extension"
  | "size-end"
  | "chunk"
  | "chunk-return"
  | "chunk-end"
  | "trailers"
  | "trailer"
  | "trailer-end"
  | "trailers-end"
  | "length"
  | "close"
  | "complete"
  | "fault";

const NOTHING = Buffer.alloc(0);

export class AnswerParser {
  #place: Place = "head";
  #head: AnswerHead | undefined;
  /** The part of the head received so far. */
  #begun = "";
  /** The number of bytes still allowed for head, chunk extensions or trailers. */
  #room = HEAD_BYTES_MAX;
  /** The number of bytes still missing from the body or chunk. */
  #left = 0;
  #digits = 0;
  #surplus = false;
  #fault: MalformedAnswer | undefined;

  get head(): AnswerHead | undefined {
    return this.#head;
  }

  /** The violation of the standard, if any. Bytes after it are ignored. */
  get fault(): MalformedAnswer | undefined {
    return this.#fault;
  }

  get complete(): boolean {
    return this.#place === "complete";
  }

  /** Whether the connection can be reused: the response is complete, and no bytes followed it. */
  get reusable(): boolean {
    return this.complete && this.#head?.persists === true && !this.#surplus;
  }

  /**
   * Parses a read and returns the body's bytes in it. They are in the read's memory, so they are only valid until the
   * next read.
   */
  push(bytes: Buffer): Buffer {
    let from = 0;
    while (this.#place === "head" && from < bytes.length) from = this.#readHead(bytes, from);
    switch (this.#place) {
      case "head":
      case "fault":
        return NOTHING;
      case "complete":
        this.#surplus ||= from < bytes.length;
        return NOTHING;
      case "close":
        return bytes.subarray(from);
      case "length":
        return this.#readLength(bytes, from);
      default:
        return this.#readChunks(bytes, from);
    }
  }

  /** Called when the server has closed its side. Returns whether the response is complete. */
  end(): boolean {
    if (this.#place === "close") this.#place = "complete";
    return this.complete;
  }

  #refuse(error: unknown): void {
    if (!(error instanceof MalformedAnswer)) throw error;
    this.#fault = error;
    this.#place = "fault";
  }

  /** Parses a part of the head and returns the position after it. */
  #readHead(bytes: Buffer, from: number): number {
    try {
      return this.#findHead(bytes, from);
    } catch (error) {
      this.#refuse(error);
      return bytes.length;
    }
  }

  #findHead(bytes: Buffer, from: number): number {
    const to = Math.min(bytes.length, from + HEAD_BYTES_USUAL);
    const before = this.#begun.length;
    const text = this.#begun + bytes.toString("latin1", from, to);
    // Skips empty lines before a response, which may be left over from the previous one.
    const blank = /^(?:\r\n)+/.exec(text)?.[0].length ?? 0;
    const end = text.indexOf(HEAD_END, blank);
    const size = end === -1 ? text.length : end + HEAD_END.length;
    if (size > this.#room) throw new MalformedAnswer("its headers are too large");
    if (end === -1) {
      this.#begun = text;
      return to;
    }
    this.#begun = "";
    this.#room -= size;
    const head = headOf(text.slice(blank, end));
    if (head.status >= 200) this.#begin(head);
    return from + size - before;
  }

  #begin(head: AnswerHead): void {
    this.#head = head;
    this.#room = HEAD_BYTES_MAX;
    this.#left = head.length;
    if (head.body === "chunks") this.#place = "size";
    else if (head.body === "close") this.#place = "close";
    else this.#place = head.body === "none" || head.length === 0 ? "complete" : "length";
  }

  #readLength(bytes: Buffer, from: number): Buffer {
    const to = Math.min(bytes.length, from + this.#left);
    this.#left -= to - from;
    if (this.#left === 0) this.#place = "complete";
    this.#surplus ||= to < bytes.length;
    return bytes.subarray(from, to);
  }

  #readChunks(bytes: Buffer, from: number): Buffer {
    const length = bytes.length;
    let at = from;
    let start = -1;
    let to = -1;
    while (at < length && !this.complete) {
      if (this.#place !== "chunk") {
        try {
          at = this.#frames(bytes, at);
        } catch (error) {
          // The bytes before the violation are passed on first.
          this.#refuse(error);
          break;
        }
        continue;
      }
      const end = Math.min(length, at + this.#left);
      if (start === -1) {
        start = at;
        to = end;
      } else {
        bytes.copyWithin(to, at, end);
        to += end - at;
      }
      this.#left -= end - at;
      at = end;
      if (this.#left === 0) this.#place = "chunk-return";
    }
    this.#surplus ||= at < length;
    return start === -1 ? NOTHING : bytes.subarray(start, to);
  }

  /** Parses chunk framing and returns the position of the next chunk's data. */
  #frames(bytes: Buffer, from: number): number {
    let at = from;
    while (at < bytes.length && this.#place !== "chunk" && !this.complete) this.#frame(bytes[at++] as number);
    return at;
  }

  /** Parses one byte of chunk framing. */
  #frame(byte: number): void {
    switch (this.#place) {
      case "size": {
        const digit = hexDigit(byte);
        if (digit !== -1) {
          this.#left = this.#left * 16 + digit;
          if (this.#left > 0 || this.#digits === 0) this.#digits++;
          if (this.#digits > SIZE_DIGITS_MAX) throw new MalformedAnswer("a chunk of the response body is too large");
          this.#takeRoom();
          return;
        }
        if (this.#digits === 0) throw new MalformedAnswer("the chunked response body has a chunk without a size");
        if (byte === CR) this.#place = "size-end";
        else if (byte === SEMICOLON || isBlank(byte)) this.#place = "extension";
        else throw new MalformedAnswer("the size of a chunk of the response body is not a number");
        return;
      }
      case "extension":
        this.#takeRoom();
        if (byte === CR) this.#place = "size-end";
        else if (byte === LF) throw new MalformedAnswer("a line feed has no carriage return before it");
        return;
      case "size-end":
        expectLineFeed(byte);
        this.#digits = 0;
        this.#room = HEAD_BYTES_MAX;
        this.#place = this.#left === 0 ? "trailers" : "chunk";
        return;
      case "chunk-return":
        if (byte !== CR) throw new MalformedAnswer("a chunk contains more bytes than its size line declares");
        this.#place = "chunk-end";
        return;
      case "chunk-end":
        expectLineFeed(byte);
        this.#place = "size";
        return;
      case "trailers":
        this.#takeRoom();
        this.#place = byte === CR ? "trailers-end" : "trailer";
        if (byte === LF) throw new MalformedAnswer("a line feed has no carriage return before it");
        return;
      case "trailer":
        this.#takeRoom();
        if (byte === CR) this.#place = "trailer-end";
        else if (byte === LF) throw new MalformedAnswer("a line feed has no carriage return before it");
        return;
      case "trailer-end":
        expectLineFeed(byte);
        this.#place = "trailers";
        return;
      case "trailers-end":
        expectLineFeed(byte);
        this.#place = "complete";
    }
  }

  #takeRoom(): void {
    if (this.#room-- === 0) throw new MalformedAnswer("a chunk's size line or the trailers are too long");
  }
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

const isBlank = (byte: number): boolean => byte === 32 || byte === 9;

function expectLineFeed(byte: number): void {
  if (byte !== LF) throw new MalformedAnswer("a carriage return is not followed by a line feed");
}

/** Parses a head without its final empty line. */
function headOf(text: string): AnswerHead {
  const [first = "", ...lines] = text.replace(FOLD, " ").split("\r\n");
  const [, minor, code] = STATUS_LINE.exec(first) ?? [];
  if (code === undefined) throw new MalformedAnswer("it is not an HTTP/1.1 response");
  const fields = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = FIELD_LINE.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new MalformedAnswer("a header line is malformed");
    const key = name.toLowerCase();
    const before = fields.get(key);
    fields.set(key, before === undefined ? value : `${before}, ${value}`);
  }
  const status = Number(code);
  const framing = framingOf(status, fields);
  const options = (fields.get("connection") ?? "").toLowerCase().split(/[ \t]*,[ \t]*/);
  const asked = minor === "1" ? !options.includes("close") : options.includes("keep-alive");
  return { status, fields, persists: asked && framing.body !== "close", ...framing };
}

function framingOf(status: number, fields: ReadonlyMap<string, string>): Pick<AnswerHead, "body" | "length"> {
  const coding = fields.get("transfer-encoding");
  const length = fields.get("content-length");
  // The client never requests an upgrade.
  if (status === 101) throw new MalformedAnswer("it switches protocols");
  if (status < 200 || status === 204 || status === 304) return { body: "none", length: 0 };
  if (coding !== undefined) {
    if (length !== undefined) throw new MalformedAnswer("it has both a content length and chunks");
    if (coding.toLowerCase() !== "chunked") throw new MalformedAnswer("it has an encoding that was not requested");
    return { body: "chunks", length: 0 };
  }
  if (length === undefined) return { body: "close", length: 0 };
  if (!/^\d{1,15}$/.test(length)) throw new MalformedAnswer("its content length is not a number");
  return { body: "length", length: Number(length) };
}
