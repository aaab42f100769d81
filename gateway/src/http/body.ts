/**
 * Reading a request's body: bounded while it comes, uncompressed, strict UTF-8, JSON. A declared length over the limit is
 * refused before a byte is read; a false one does not help, because the bytes are counted.
 */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../base/clock.ts";
import { fault, invalidRequest, unsupportedEncoding } from "../faults.ts";

export const BODY_BYTES_MAX = 10 * 1024 * 1024;
/** Deeper nesting than any request has: parsing it would take memory out of proportion to its bytes. */
const NESTING_MAX = 64;
/** A client that is still sending when it is refused reads our answer only once it has sent: it may go on for so long. */
const DISCARD_BYTES_MAX = 16 * 1024 * 1024;
const DISCARD_MS_MAX = 2_000;

const utf8 = new TextDecoder("utf-8", { fatal: true });

export function checkDeclaredLength(request: IncomingMessage): void {
  if (Number(request.headers["content-length"] ?? 0) > BODY_BYTES_MAX) throw fault("request_too_large");
}

export async function readJson(request: IncomingMessage): Promise<unknown> {
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") throw unsupportedEncoding(encoding);
  checkDeclaredLength(request);
  const bytes = await readBytes(request);
  if (isTooDeep(bytes)) throw invalidRequest(null, `The body must not be nested deeper than ${NESTING_MAX} levels.`);
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

function readBytes(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = (settle: () => void): void => {
      request.off("data", onData).off("end", onEnd).off("error", onError).off("close", onClose);
      settle();
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > BODY_BYTES_MAX) finish(() => reject(fault("request_too_large")));
      else chunks.push(chunk);
    };
    const onEnd = (): void =>
      finish(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    const onError = (cause: Error): void => finish(() => reject(invalidRequest(null, "The body broke off.", cause)));
    const onClose = (): void => onError(new Error("the connection closed"));
    request.on("data", onData).on("end", onEnd).on("error", onError).on("close", onClose);
  });
}

const [QUOTE, BACKSLASH] = ['"', "\\"].map((char) => char.charCodeAt(0));
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = ["[", "]", "{", "}"].map((char) => char.charCodeAt(0));

/** Whether brackets outside strings nest too deep. One pass over the bytes, before anything is built from them. */
function isTooDeep(bytes: Buffer): boolean {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (inString) {
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) {
      inString = true;
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      if (depth > NESTING_MAX) return true;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      depth -= 1;
    }
  }
  return false;
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
