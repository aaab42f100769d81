/**
 * Parses a NATS client's stream, in chunks of any size. Control lines end in a line feed. PUB and HPUB announce a
 * payload that follows. A payload within one chunk is passed on without a copy; one over several chunks is copied once.
 * The first line must be CONNECT. Only that line may be long, so an unauthenticated client cannot make the hub store
 * anything else.
 */
import type { HubLimits } from "./hub-limits.ts";
import type { SubscribeRequest } from "./subject-permissions.ts";

export interface ProtocolOperations {
  /** The JSON text after CONNECT, unparsed. */
  connect(options: string): void;
  /** Headers and reply subjects are left out, because the plane uses neither. */
  publish(subject: string, payload: Uint8Array): void;
  subscribe(ask: SubscribeRequest): void;
  /** `max`: unsubscribes after this total number of messages. */
  unsubscribe(sid: string, max: number | undefined): void;
  ping(): void;
  pong(): void;
}

/** Messages for violations of the protocol, worded like nats-server's. */
const VIOLATIONS = {
  connect_first: "Authorization Violation",
  unknown_operation: "Unknown Protocol Operation",
  malformed: "Parser Error",
  line_too_long: "Maximum Control Line Exceeded",
  payload_too_large: "Maximum Payload Violation",
} as const;

type ViolationCode = keyof typeof VIOLATIONS;

/** The stream cannot be parsed any further. The message is safe to send to the peer. */
export class ProtocolViolation extends Error {
  override name = "ProtocolViolation";
  readonly code: ViolationCode;

  constructor(code: ViolationCode) {
    super(VIOLATIONS[code]);
    this.code = code;
  }
}

type ParserLimits = Pick<HubLimits, "controlLineBytesMax" | "connectLineBytesMax" | "payloadBytesMax">;

interface Announced {
  subject: string;
  headerBytes: number;
  /** The bytes of header and payload, without the line end. */
  totalBytes: number;
}

const LF = 10;
const CR = 13;
const LINE_END_BYTES = 2;
const SIZE = /^\d{1,9}$/;

export class NatsProtocolParser {
  readonly #operations: ProtocolOperations;
  readonly #controlLineBytesMax: number;
  #lineBytesMax: number;
  #payloadBytesMax: number;
  #connected = false;
  #stopped = false;
  /** The beginning of an incomplete line. */
  #line: Buffer | undefined;
  #lineBytes = 0;
  #announced: Announced | undefined;
  /** The beginning of an incomplete payload. */
  #body: Buffer | undefined;
  #bodyBytes = 0;

  constructor(limits: ParserLimits, operations: ProtocolOperations) {
    this.#operations = operations;
    this.#controlLineBytesMax = limits.controlLineBytesMax;
    this.#lineBytesMax = limits.connectLineBytesMax;
    this.#payloadBytesMax = limits.payloadBytesMax;
  }

  /** The position in the chunk at which the last `push` stopped. */
  position = 0;

  /**
   * Parses at most `operationsMax` operations, starting at `from`. Returns their number. After a `ProtocolViolation`
   * the parser must not be used any more.
   */
  push(chunk: Buffer, from = 0, operationsMax = Number.POSITIVE_INFINITY): number {
    this.position = from;
    let operations = 0;
    while (this.position < chunk.length && operations < operationsMax && !this.#stopped) {
      const { position: at } = this;
      this.position =
        this.#announced === undefined ? this.#readLine(chunk, at) : this.#readBody(chunk, at, this.#announced);
      if (this.#announced === undefined) operations++;
    }
    return operations;
  }

  /** Stops parsing, because an operation ended the connection. The rest of the chunk is ignored. */
  stop(): void {
    this.#stopped = true;
    this.#line = undefined;
    this.#body = undefined;
  }

  /** Lowers the payload limit to the credential's, if that is smaller. */
  limitPayload(bytesMax: number): void {
    this.#payloadBytesMax = Math.min(this.#payloadBytesMax, bytesMax);
  }

  #readLine(chunk: Buffer, at: number): number {
    const end = chunk.indexOf(LF, at);
    const next = end < 0 ? chunk.length : end + 1;
    if (this.#lineBytes + next - at > this.#lineBytesMax) throw new ProtocolViolation("line_too_long");
    if (end < 0) {
      this.#holdLine(chunk, at, next);
    } else if (this.#line === undefined) {
      this.#readOperation(chunk, at, end);
    } else {
      const line = this.#holdLine(chunk, at, next);
      const bytes = this.#lineBytes;
      this.#line = undefined;
      this.#lineBytes = 0;
      this.#readOperation(line, 0, bytes - 1);
    }
    return next;
  }

  #holdLine(chunk: Buffer, start: number, end: number): Buffer {
    this.#line ??= Buffer.allocUnsafe(this.#lineBytesMax);
    this.#lineBytes += chunk.copy(this.#line, this.#lineBytes, start, end);
    return this.#line;
  }

  #readOperation(buffer: Buffer, start: number, lineFeed: number): void {
    const end = lineFeed > start && buffer[lineFeed - 1] === CR ? lineFeed - 1 : lineFeed;
    const text = buffer.toString("latin1", start, end);
    const space = text.indexOf(" ");
    const name = (space < 0 ? text : text.slice(0, space)).toUpperCase();
    if (!this.#connected) {
      if (name !== "CONNECT") throw new ProtocolViolation("connect_first");
      this.#connected = true;
      this.#lineBytesMax = this.#controlLineBytesMax;
      this.#operations.connect(buffer.toString("utf8", start + name.length, end));
      return;
    }
    const words = space < 0 ? [] : splitWords(text, space + 1);
    if (name === "PUB") this.#announce(words, false);
    else if (name === "HPUB") this.#announce(words, true);
    else if (name === "SUB") this.#subscribe(words);
    else if (name === "UNSUB") this.#unsubscribe(words);
    else if (name === "PING") this.#operations.ping();
    else if (name === "PONG") this.#operations.pong();
    else throw new ProtocolViolation("unknown_operation");
  }

  /** Parses `PUB subject [reply] bytes` or `HPUB subject [reply] headerBytes totalBytes`. */
  #announce(words: string[], withHeader: boolean): void {
    const numbers = withHeader ? 2 : 1;
    const [subject] = words;
    if (subject === undefined || words.length < 1 + numbers || words.length > 2 + numbers) {
      throw new ProtocolViolation("malformed");
    }
    const totalBytes = parseSize(words.at(-1));
    const headerBytes = withHeader ? parseSize(words.at(-2)) : 0;
    if (headerBytes > totalBytes) throw new ProtocolViolation("malformed");
    if (totalBytes > this.#payloadBytesMax) throw new ProtocolViolation("payload_too_large");
    this.#announced = { subject, headerBytes, totalBytes };
  }

  #readBody(chunk: Buffer, at: number, announced: Announced): number {
    const wanted = announced.totalBytes + LINE_END_BYTES;
    if (this.#body === undefined) {
      if (chunk.length - at >= wanted) {
        this.#finishBody(chunk, at, announced);
        return at + wanted;
      }
      this.#body = Buffer.allocUnsafe(wanted);
      this.#bodyBytes = 0;
    }
    const copied = chunk.copy(this.#body, this.#bodyBytes, at);
    this.#bodyBytes += copied;
    if (this.#bodyBytes === wanted) {
      const body = this.#body;
      this.#body = undefined;
      this.#finishBody(body, 0, announced);
    }
    return at + copied;
  }

  #finishBody(buffer: Buffer, start: number, { subject, headerBytes, totalBytes }: Announced): void {
    const end = start + totalBytes;
    if (buffer[end] !== CR || buffer[end + 1] !== LF) throw new ProtocolViolation("malformed");
    this.#announced = undefined;
    this.#operations.publish(subject, buffer.subarray(start + headerBytes, end));
  }

  /** Parses `SUB pattern [queue] sid`. */
  #subscribe(words: string[]): void {
    const [pattern, second, third] = words;
    if (pattern === undefined || second === undefined || words.length > 3) throw new ProtocolViolation("malformed");
    const queue = third === undefined ? undefined : second;
    this.#operations.subscribe({ pattern, queue, sid: third ?? second });
  }

  /** Parses `UNSUB sid [max]`. */
  #unsubscribe(words: string[]): void {
    const [sid, max] = words;
    if (sid === undefined || words.length > 2) throw new ProtocolViolation("malformed");
    this.#operations.unsubscribe(sid, max === undefined ? undefined : parseSize(max));
  }
}

function splitWords(text: string, from: number): string[] {
  const words = text.slice(from).split(" ");
  return words.includes("") ? words.filter((word) => word !== "") : words;
}

function parseSize(text: string | undefined): number {
  if (text === undefined || !SIZE.test(text)) throw new ProtocolViolation("malformed");
  return Number(text);
}
