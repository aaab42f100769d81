/** Parses HTTP responses from raw bytes strictly: anything that could confuse a client is an error. */
import type { ReceivedResponse } from "./expected-response.ts";
import { NoValidResponseError } from "./fuzz-target.ts";

/** Returns the complete responses; `rest` contains the bytes after them. Interim responses (1xx) are skipped. */
export function parseHttpResponses(bytes: Buffer): { answers: ReceivedResponse[]; rest: Buffer } {
  const answers: ReceivedResponse[] = [];
  let rest = bytes;
  for (;;) {
    const read = readAnswer(rest);
    if (read === undefined) return { answers, rest };
    if (read.answer.status >= 200) answers.push(read.answer);
    rest = read.rest;
  }
}

function readAnswer(bytes: Buffer): { answer: ReceivedResponse; rest: Buffer } | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) {
    if (bytes.length > 0 && !"HTTP/1.1 ".startsWith(bytes.toString("latin1", 0, 9))) throw strange(bytes);
    return undefined;
  }
  const [line = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const status = /^HTTP\/1\.1 ([1-5]\d\d) /.exec(line)?.[1];
  if (status === undefined) throw strange(bytes);
  const headers = Object.fromEntries(
    lines.map((header) => {
      const colon = header.indexOf(":");
      if (colon < 1) throw strange(Buffer.from(header));
      return [header.slice(0, colon).toLowerCase(), header.slice(colon + 1).trim()];
    }),
  );
  const body = readBody(Number(status), headers, bytes.subarray(end + 4));
  if (body === undefined) return undefined;
  return { answer: { status: Number(status), headers, text: body.text.toString("utf8") }, rest: body.rest };
}

function readBody(
  status: number,
  headers: Record<string, string>,
  bytes: Buffer,
): { text: Buffer; rest: Buffer } | undefined {
  if (status < 200 || status === 204 || status === 304) return { text: Buffer.alloc(0), rest: bytes };
  if (headers["transfer-encoding"] === "chunked") return readChunks(bytes);
  const length = Number(headers["content-length"]);
  if (!Number.isSafeInteger(length)) throw new NoValidResponseError("the answer does not tell its length");
  return bytes.length < length ? undefined : { text: bytes.subarray(0, length), rest: bytes.subarray(length) };
}

function readChunks(bytes: Buffer): { text: Buffer; rest: Buffer } | undefined {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf("\r\n", at);
    if (end === -1) return undefined;
    const size = bytes.toString("latin1", at, end);
    if (!/^[0-9a-f]+$/i.test(size)) throw strange(bytes.subarray(at));
    const from = end + 2;
    const to = from + Number.parseInt(size, 16);
    if (bytes.length < to + 2) return undefined;
    if (bytes.toString("latin1", to, to + 2) !== "\r\n") throw strange(bytes.subarray(to));
    if (to === from) return { text: Buffer.concat(chunks), rest: bytes.subarray(to + 2) };
    chunks.push(bytes.subarray(from, to));
    at = to + 2;
  }
}

const strange = (bytes: Buffer): Error =>
  new NoValidResponseError(`the answer is not HTTP: ${JSON.stringify(bytes.toString("latin1", 0, 300))}`);
