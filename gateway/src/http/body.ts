/**
 * Reading a request's body: bounded while it comes, strict UTF-8, JSON. A declared length over the limit is refused before
 * a byte is read; a false one does not help, because the bytes are counted.
 */
import type { IncomingMessage } from "node:http";
import { fault, invalidRequest } from "../faults.ts";

export const BODY_BYTES_MAX = 10 * 1024 * 1024;

const utf8 = new TextDecoder("utf-8", { fatal: true });

export async function readJson(request: IncomingMessage): Promise<unknown> {
  const bytes = await readBytes(request);
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
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > BODY_BYTES_MAX) return Promise.reject(fault("request_too_large"));
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
