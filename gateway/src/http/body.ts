/**
 * Reading a request's body: bounded while it comes, uncompressed, strict UTF-8, JSON. A declared length over the limit is
 * refused before a byte is read; a false one does not help, because the bytes are counted.
 */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../base/clock.ts";
import { fault, invalidRequest, unsupportedEncoding } from "../faults.ts";

export const BODY_BYTES_MAX = 10 * 1024 * 1024;
/** Of everything but inference: forms, not documents. */
export const FORM_BYTES_MAX = 64 * 1024;
/**
 * Deeper nesting and more values than any request has: parsing and checking them would take time and memory out of
 * proportion to their bytes, and every other request would wait for it.
 */
const NESTING_MAX = 64;
export const VALUES_MAX = 100_000;
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
  return fault("request_too_large", { message: `The request body exceeds ${size}.` });
}

export async function readJson(request: IncomingMessage, bytesMax = BODY_BYTES_MAX): Promise<unknown> {
  const bytes = await readBytes(request, bytesMax);
  const excess = excessOf(bytes);
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

/** The bytes as they came, for what is signed. */
export async function readBytes(request: IncomingMessage, bytesMax = BODY_BYTES_MAX): Promise<Buffer> {
  refuseEncoded(request);
  checkDeclaredLength(request, bytesMax);
  return await new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = (settle: () => void): void => {
      request.off("data", onData).off("end", onEnd).off("error", onError).off("close", onClose);
      settle();
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > bytesMax) finish(() => reject(tooLarge(bytesMax)));
      else chunks.push(chunk);
    };
    const onEnd = (): void =>
      finish(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    const onError = (cause: Error): void => finish(() => reject(invalidRequest(null, "The body broke off.", cause)));
    const onClose = (): void => onError(new Error("the connection closed"));
    request.on("data", onData).on("end", onEnd).on("error", onError).on("close", onClose);
  });
}

const [QUOTE, BACKSLASH, COMMA] = ['"', "\\", ","].map((char) => char.charCodeAt(0));
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = ["[", "]", "{", "}"].map((char) => char.charCodeAt(0));

/** What the body has too much of, if anything. One pass over the bytes, before anything is built from them. */
function excessOf(bytes: Buffer): string | null {
  let depth = 0;
  let values = 1;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (inString) {
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) {
      inString = true;
    } else if (byte === COMMA) {
      values += 1;
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      values += 1;
      if (depth > NESTING_MAX) return `The body must not be nested deeper than ${NESTING_MAX} levels.`;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      depth -= 1;
    }
    if (values > VALUES_MAX) return `The body must not hold more than ${VALUES_MAX} values.`;
  }
  return null;
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
    // The client cut the connection itself: nothing is left to discard, and nobody to tell.
  });
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > DISCARD_BYTES_MAX) cut();
  });
}
