/**
 * Reading a request's body: bounded while it comes, uncompressed, strict UTF-8, JSON. A declared length over the limit is
 * refused before a byte is read; a false one does not help, because the bytes are counted. A large body has to find room
 * in the budget first.
 */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../base/clock.ts";
import { fault, invalidRequest, tooSlow, unsupportedEncoding } from "../faults.ts";
import { takePiece } from "./shared-pieces.ts";

export const BODY_BYTES_MAX = 10 * 1024 * 1024;
/** Who sends no more is read and parsed at once; more takes of the budget, and is parsed on another thread. */
export const SMALL_BYTES_MAX = 64 * 1024;
/** Of those whom no one knows yet, no more is read than this. */
export const STRANGER_BYTES_MAX = SMALL_BYTES_MAX;
/** A body may take as long as it takes, but for pauses like this, and for a rate below this one once it had time to begin. */
const IDLE_MS_MAX = 15_000;
const BYTES_PER_S_MIN = 8 * 1024;
const BEGIN_MS = 30_000;
const LOOK_EVERY_MS = 1_000;
/** What one connection may bring before others have their turn. */
const TURN_BYTES = 256 * 1024;
/**
 * Deeper nesting and more values than any request has: parsing and checking them would take time and memory out of
 * proportion to their bytes, and every other request would wait for it. A schema may have 100 levels, and one that is too
 * deep is told so by its own rule, which names it.
 */
const NESTING_MAX = 1_024;
export const VALUES_MAX = 100_000;
/** Of everything but inference: forms, not documents. */
export const FORM_VALUES_MAX = 10_000;
/** A client that is still sending when it is refused reads our answer only once it has sent: it may go on for so long. */
const DISCARD_BYTES_MAX = 16 * 1024 * 1024;
const DISCARD_MS_MAX = 2_000;

const utf8 = new TextDecoder("utf-8", { fatal: true });

export function checkDeclaredLength(request: IncomingMessage, bytesMax = BODY_BYTES_MAX): void {
  if (Number(request.headers["content-length"] ?? 0) > bytesMax) throw tooLarge(bytesMax);
}

function tooLarge(bytesMax: number): Error {
  const kib = bytesMax / 1024;
  const size = kib < 1024 ? `${kib} KiB` : `${kib / 1024} MiB`;
  return fault("request_too_large", { message: `The request body is larger than ${size}.` });
}

/** Parses a body, on whatever thread. */
export function parseJson(bytes: Uint8Array, valuesMax = VALUES_MAX): unknown {
  const excess = excessOf(bytes, valuesMax);
  if (excess !== null) throw invalidRequest(null, excess);
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch (cause) {
    throw invalidRequest(null, "The body must be valid UTF-8.", cause);
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalidRequest(null, "The body must be valid JSON.", cause);
  }
}

/** Compressed, or compressed on its way. */
function refuseEncoded({ headers }: IncomingMessage): void {
  const { "content-encoding": encoding = "identity", "transfer-encoding": transfer = "chunked" } = headers;
  if (encoding.toLowerCase() !== "identity") throw unsupportedEncoding(encoding);
  if (transfer.toLowerCase() !== "chunked") throw unsupportedEncoding(transfer, "transfer-encoding");
}

/**
 * The body, where it is small and all of it came with its head, as most do. Null: it has to be waited for. Fault: 415.
 *
 * Its handler runs before Node has told that the body is complete: that so many bytes are there as were declared is as good.
 */
export function atHand(request: IncomingMessage, bytesMax: number): Buffer<ArrayBuffer> | null {
  const { destroyed, headers, readableLength: bytes } = request;
  if (destroyed || bytes === 0 || bytes > SMALL_BYTES_MAX || bytes > bytesMax) return null;
  if (Number(headers["content-length"]) !== bytes) return null;
  refuseEncoded(request);
  const whole = request.read();
  // Or its end would never be told.
  request.resume();
  return whole;
}

interface ReadOptions {
  clock: Clock;
  bytesMax: number;
  /** Called when the body is about to be read: who waits to be told to send it is told now. */
  begin: () => void;
  /** Makes room for a large body, as far as it is known or has come; false where there is none. */
  room: (bytes: number) => boolean;
}

/** The bytes as they came: one piece where they are few, and otherwise pieces of shared memory, to be passed on. */
export async function readPieces(request: IncomingMessage, options: ReadOptions): Promise<Uint8Array[]> {
  const { clock, bytesMax, begin, room } = options;
  refuseEncoded(request);
  checkDeclaredLength(request, bytesMax);
  // Its end was told already, and will not be told again.
  if (request.destroyed) throw brokeOff(new Error("the connection closed before"));
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > SMALL_BYTES_MAX && !room(declared)) throw noRoom();
  begin();
  return await new Promise((resolve, reject) => {
    const pieces = new Pieces(declared);
    const stopLooking = lookAtPace(clock, pieces, () => finish(() => reject(tooSlow())));
    const finish = (settle: () => void): void => {
      stopLooking();
      request.off("data", onData).off("end", onEnd).off("error", onError).off("close", onClose);
      settle();
    };
    const takeTurns = inTurns(request);
    const onData = (chunk: Buffer): void => {
      takeTurns(chunk.length);
      const bytes = pieces.bytes + chunk.length;
      if (bytes > bytesMax) finish(() => reject(tooLarge(bytesMax)));
      else if (bytes > SMALL_BYTES_MAX && bytes > declared && !room(bytes)) finish(() => reject(noRoom()));
      else pieces.push(chunk);
    };
    const onEnd = (): void => finish(() => resolve(pieces.all()));
    const onError = (cause: Error): void => finish(() => reject(brokeOff(cause)));
    const onClose = (): void => onError(new Error("the connection closed"));
    request.on("data", onData).on("end", onEnd).on("error", onError).on("close", onClose);
  });
}

/** Tells when no more came for too long, or too little in all. */
function lookAtPace(clock: Clock, came: { readonly bytes: number }, onSlow: () => void): () => void {
  const beganAt = clock.monotonic();
  let last = { bytes: 0, at: beganAt };
  return clock.every(LOOK_EVERY_MS, () => {
    const now = clock.monotonic();
    if (came.bytes !== last.bytes) last = { bytes: came.bytes, at: now };
    const dueAt = beganAt + BEGIN_MS + (came.bytes * 1000) / BYTES_PER_S_MIN;
    if (now - last.at >= IDLE_MS_MAX || now > dueAt) onSlow();
  });
}

const brokeOff = (cause: Error): Error =>
  invalidRequest(null, "The connection closed before the whole body arrived.", cause);

/**
 * A connection that brings much is read in turns: without this, all that has come on all of them would be read before
 * anything else is done.
 */
function inTurns(request: IncomingMessage): (bytes: number) => void {
  let bytes = 0;
  return (more) => {
    bytes += more;
    if (bytes < TURN_BYTES) return;
    bytes = 0;
    request.pause();
    setImmediate(() => request.resume());
  };
}

const noRoom = (): Error =>
  fault("no_capacity", {
    message: "Too many large request bodies are being read. Nothing was billed; it is safe to retry.",
  });

/**
 * Gathers a body. One that turns out large is copied into pieces as it comes: joining ten mebibytes at the end would hold
 * up everyone else.
 */
class Pieces {
  bytes = 0;
  readonly #declared: number;
  #chunks: Buffer[] = [];
  readonly #full: Uint8Array[] = [];
  #last: Uint8Array | null = null;
  #lastBytes = 0;

  constructor(declared: number) {
    this.#declared = declared;
  }

  push(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.#last === null && this.bytes <= SMALL_BYTES_MAX && this.#declared <= SMALL_BYTES_MAX) {
      this.#chunks.push(chunk);
      return;
    }
    for (const early of this.#chunks) this.#copy(early);
    this.#chunks = [];
    this.#copy(chunk);
  }

  all(): Uint8Array[] {
    if (this.#last !== null) return [...this.#full, this.#last.subarray(0, this.#lastBytes)];
    return [this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks)];
  }

  #copy(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#last === null || this.#lastBytes === this.#last.length) {
        if (this.#last !== null) this.#full.push(this.#last);
        this.#last = takePiece();
        this.#lastBytes = 0;
      }
      const part = chunk.subarray(at, at + this.#last.length - this.#lastBytes);
      this.#last.set(part, this.#lastBytes);
      this.#lastBytes += part.length;
      at += part.length;
    }
  }
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Within so many bytes a quote is found sooner by looking at each. */
const NEAR_BYTES = 32;

/** What the body has too much of, if anything. One pass over the bytes, before anything is built from them. */
function excessOf(bytes: Uint8Array, valuesMax: number): string | null {
  let depth = 0;
  let values = 1;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === QUOTE) {
      i = stringEnd(bytes, i + 1);
    } else if (byte === COMMA) {
      values += 1;
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      values += 1;
      if (depth > NESTING_MAX) return `The body must not be nested deeper than ${NESTING_MAX} levels.`;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      depth -= 1;
    }
    if (values > valuesMax) return `The body must not contain more than ${valuesMax} values.`;
  }
  return null;
}

/**
 * Where the string ends whose inside begins at `from`: at its quote, or with the bytes. Near quotes are looked for byte by byte; where
 * there are none, which is what long texts are made of, a native search is many times as fast.
 */
function stringEnd(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; ) {
    for (const near = at + NEAR_BYTES; at < near; at++) {
      const byte = bytes[at];
      if (byte === QUOTE || byte === undefined) return at;
      if (byte === BACKSLASH) at += 1;
    }
    const quote = bytes.indexOf(QUOTE, at);
    if (quote < 0) break;
    let slashes = 0;
    while (quote - slashes > at && bytes[quote - slashes - 1] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return quote;
    at = quote + 1;
  }
  return bytes.length;
}

/**
 * What a refused client still sends is read and thrown away, up to a bound, so that it gets to read the answer; then the
 * connection is cut.
 */
export function discardRest(request: IncomingMessage, clock: Clock): void {
  if (request.complete || request.destroyed) return;
  let bytes = 0;
  const cut = (): void => {
    request.destroy();
  };
  const stopTimer = clock.after(DISCARD_MS_MAX, cut);
  request.once("close", stopTimer).once("end", stopTimer);
  request.on("error", () => {
    // The client cut the connection itself: nothing is left to discard, and no one to tell.
  });
  const takeTurns = inTurns(request);
  request.on("data", (chunk: Buffer) => {
    takeTurns(chunk.length);
    bytes += chunk.length;
    if (bytes > DISCARD_BYTES_MAX) cut();
  });
}
