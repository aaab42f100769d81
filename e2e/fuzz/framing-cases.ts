/** Generates requests with unusual or broken HTTP framing, and bytes that are not a request. */
import { gzipSync } from "node:zlib";
import { deriveExpectedResponses } from "./derive-expected-responses.ts";
import { NOT_FOUND, NOT_HTTP, UNAUTHORIZED } from "./expected-response.ts";
import type { SocketFuzzCase } from "./fuzz-case.ts";
import {
  AUTHORIZATION_HEADER,
  cutRandomly,
  makeAnyPost,
  makeHead,
  makeListeningCase,
  makePostHead,
} from "./raw-requests.ts";
import { ENDPOINTS } from "./request-bodies.ts";
import type { SeededChoices } from "./seeded-choices.ts";

export function makeOddChunks(random: SeededChoices): SocketFuzzCase {
  const { endpoint, body } = makeAnyPost(random);
  const extension = random.pick(["", ";a=b", ';name="value"', ";x"]);
  const size = (length: number): string =>
    random.pick(["", "0", "0000"]) + random.pick([length.toString(16), length.toString(16).toUpperCase()]);
  const chunks = cutRandomly(random, body, random.pick([0, 3, 60]))
    .filter((chunk) => chunk.length > 0)
    .map((chunk) => Buffer.concat([Buffer.from(`${size(chunk.length)}${extension}\r\n`), chunk, Buffer.from("\r\n")]));
  const trailer = random.pick(["", "x-trailer: 1\r\n", "content-type: x\r\n", "authorization: Bearer x\r\n"]);
  const bytes = Buffer.concat([
    makePostHead(endpoint, "transfer-encoding: chunked"),
    ...chunks,
    Buffer.from(`0\r\n${trailer}\r\n`),
  ]);
  return makeListeningCase(cutRandomly(random, bytes, 12), deriveExpectedResponses(endpoint, body));
}

export function makeSlowRequest(random: SeededChoices): SocketFuzzCase {
  const { endpoint, body } = makeAnyPost(random);
  const bytes = Buffer.concat([makePostHead(endpoint, `content-length: ${body.length}`), body]);
  return makeListeningCase(cutRandomly(random, bytes, 80), deriveExpectedResponses(endpoint, body));
}

export function makeCompressedTransferEncoding(random: SeededChoices): SocketFuzzCase {
  const { endpoint, body } = makeAnyPost(random);
  const coding = random.pick(["gzip, chunked", "deflate,chunked", "x, chunked"]);
  const sent = random.chance(0.5) ? gzipSync(body) : body;
  const chunk = Buffer.concat([Buffer.from(`${sent.length.toString(16)}\r\n`), sent, Buffer.from("\r\n0\r\n\r\n")]);
  return makeListeningCase([makePostHead(endpoint, `transfer-encoding: ${coding}`), chunk], [{ status: 415 }]);
}

/** A client that closes its sending side must still get the response. */
export function makeHalfClosedConnection(random: SeededChoices): SocketFuzzCase {
  const { endpoint, body } = makeAnyPost(random);
  const bytes = Buffer.concat([makePostHead(endpoint, `content-length: ${body.length}`), body]);
  return { ...makeListeningCase([bytes], deriveExpectedResponses(endpoint, body)), afterwards: "end" };
}

export function makeBrokenChunks(random: SeededChoices): SocketFuzzCase {
  const { endpoint, body } = makeAnyPost(random);
  const size = body.length.toString(16);
  const chunks = random.pick([
    `zz\r\n${body}`,
    `-1\r\n${body}`,
    `0x${size}\r\n${body}\r\n0\r\n\r\n`,
    `${size}\n${body}\n0\n\n`,
    `FFFFFFFFFFFFFFFFF\r\n${body}`,
    `${size} \r\n${body}`,
    `1\r\n${body}\r\n0\r\n\r\n`,
    `\r\n${body}`,
    `${size};${"x".repeat(20_000)}\r\n${body}`,
  ]);
  const bytes = Buffer.concat([makePostHead(endpoint, "transfer-encoding: chunked"), Buffer.from(chunks)]);
  return makeListeningCase([bytes], [NOT_HTTP]);
}

export function makeConflictingLengths(random: SeededChoices): SocketFuzzCase {
  const { endpoint, body } = makeAnyPost(random);
  const right = `content-length: ${body.length}`;
  const headers = random.pick([
    [right, `content-length: ${body.length + 1}`],
    [right, right],
    [right, "transfer-encoding: chunked"],
    ["transfer-encoding: chunked", right],
    ["transfer-encoding: identity"],
    ["transfer-encoding: chunked, identity"],
    [`content-length: ${body.length}, ${body.length}`],
    [`content-length: +${body.length}`],
    ["content-length: -1"],
    ["content-length: 1e2"],
    ["content-length: 0x10"],
    ["content-length: 99999999999999999999999999"],
    ["content-length:"],
    [`content-length: ${body.length} `, "content-length : 3"],
  ]);
  const bytes = Buffer.concat([makePostHead(endpoint, ...headers), body]);
  return makeListeningCase([bytes], [NOT_HTTP]);
}

/** A declared length that is too small: the bytes after it are not a request. */
export function makeTooSmallContentLength(random: SeededChoices): SocketFuzzCase {
  const { endpoint, body } = makeAnyPost(random);
  const told = random.between(0, body.length - 1);
  const bytes = Buffer.concat([makePostHead(endpoint, `content-length: ${told}`), body]);
  const answers = [...deriveExpectedResponses(endpoint, body.subarray(0, told)), NOT_HTTP];
  return { ...makeListeningCase([bytes], answers), last: [NOT_HTTP] };
}

export function makeTooLargeContentLength(random: SeededChoices): SocketFuzzCase {
  const length = 10 * 1024 * 1024 + random.pick([1, 1000, 2 ** 33, 2 ** 50]);
  return makeListeningCase(
    [makePostHead(random.pick(ENDPOINTS), `content-length: ${length}`)],
    [{ status: 413, code: "request_too_large" }],
  );
}

export function makeTruncatedRequest(random: SeededChoices): SocketFuzzCase {
  const { endpoint, body } = makeAnyPost(random);
  const framing = random.chance(0.5) ? `content-length: ${body.length}` : "transfer-encoding: chunked";
  const bytes = Buffer.concat([makePostHead(endpoint, framing), body]);
  const pieces = [bytes.subarray(0, random.between(0, bytes.length - 1))];
  return { via: "socket", pieces, afterwards: "end", answers: [[NOT_HTTP]], mayStaySilent: true };
}

const NONSENSE: (string | Buffer)[] = [
  "\0\0\0\0",
  "GET\r\n\r\n",
  "GET /v1/models HTTP/9.9\r\n\r\n",
  "get /v1/models HTTP/1.1\r\nhost: x\r\n\r\n",
  "BREW /v1/models HTTP/1.1\r\nhost: x\r\n\r\n",
  "GET /v1/mo dels HTTP/1.1\r\nhost: x\r\n\r\n",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "GET /v1/models HTTP/1.1\r\nhost x\r\n\r\n",
  "GET /v1/models HTTP/1.1\r\n: x\r\n\r\n",
  "GET /v1/models HTTP/1.1\r\nhost: x\r\n folded: y\r\n\r\n",
  "GET /v1/models HTTP/1.1\r\nhost: x\r\na\0b: c\r\n\r\n",
  "GET /v1/models HTTP/1.1\r\nhost: x\r\nx: a\0b\r\n\r\n",
  "GET /v1/models HTTP/1.1\nhost: x\n\n",
  Buffer.from("160301020001000 1fc0303".replace(" ", ""), "hex"),
  Buffer.from([0x80, 0x81, 0x82, 0x0d, 0x0a, 0x0d, 0x0a]),
];

/** Not quite HTTP/1.1, but Node's parser accepts them. */
const NEARLY = ["GET /v1/models\r\n\r\n", "GET  /v1/models HTTP/1.1\r\nhost: x\r\n\r\n"];

export function makeInvalidHttp(random: SeededChoices): SocketFuzzCase {
  const silent = { afterwards: "end", mayStaySilent: true } as const;
  return random.pick<() => SocketFuzzCase>([
    () => makeListeningCase([Buffer.from(random.pick(NONSENSE) as string, "latin1")], [NOT_HTTP]),
    () =>
      makeListeningCase([makeHead(`GET /${"a".repeat(random.between(17_000, 40_000))} HTTP/1.1`)], [{ status: 431 }]),
    () =>
      makeListeningCase(
        [makeHead("GET /v1/models HTTP/1.1", `x: ${"a".repeat(random.between(17_000, 40_000))}`)],
        [{ status: 431 }],
      ),
    () => makeListeningCase([Buffer.from(`GET /v1/models HTTP/1.1\r\n${AUTHORIZATION_HEADER}\r\n\r\n`)], [NOT_HTTP]),
    () => ({ ...makeListeningCase([random.bytes(random.between(1, 300))], [NOT_HTTP]), ...silent }),
    () => ({
      ...makeListeningCase([Buffer.from("CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n")], [{ status: 405 }]),
      ...silent,
    }),
    () => makeListeningCase([Buffer.from(random.pick(NEARLY))], [NOT_HTTP, UNAUTHORIZED]),
    () => makeListeningCase([Buffer.from("OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n")], [NOT_FOUND]),
  ])();
}
