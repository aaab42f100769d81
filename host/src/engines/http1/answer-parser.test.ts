import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { AnswerParser } from "./answer-parser.ts";

interface Heard {
  status: number | undefined;
  body: string;
  complete: boolean;
  reusable: boolean;
  fault: string | undefined;
}

/** Parses a response from these pieces. `closes`: the server then closes the connection. */
function heard(pieces: readonly (string | Buffer)[], closes = false): Heard {
  const parser = new AnswerParser();
  const body: Buffer[] = [];
  // The bytes are copied, because the parser reuses the memory it is given.
  for (const piece of pieces) body.push(Buffer.from(parser.push(Buffer.from(piece as Buffer))));
  if (closes) parser.end();
  return {
    status: parser.head?.status,
    body: Buffer.concat(body).toString("utf8"),
    complete: parser.complete,
    reusable: parser.reusable,
    fault: parser.fault?.message,
  };
}

const whole = { status: 200, complete: true, reusable: true, fault: undefined };
const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

const GOOD: [name: string, answer: string, body: string, reusable: boolean][] = [
  ["a length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", true],
  ["a length of zero", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", true],
  ["chunks", `${CHUNKED}5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n`, "hello!", true],
  [
    "chunk sizes in either case, with leading zeros",
    `${CHUNKED}00a\r\n0123456789\r\nA\r\n9876543210\r\n000\r\n\r\n`,
    "01234567899876543210",
    true,
  ],
  ["extensions of chunks", `${CHUNKED}2;a=b;c="d"\r\nhi\r\n1 \t\r\n!\r\n0;last\r\n\r\n`, "hi!", true],
  ["trailers", `${CHUNKED}2\r\nhi\r\n0\r\nDigest: x\r\nOther: y\r\n\r\n`, "hi", true],
  ["line ends within a chunk", `${CHUNKED}6\r\n\r\n0\r\n\r\r\n0\r\n\r\n`, "\r\n0\r\n\r", true],
  [
    "interim answers",
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${CHUNKED}2\r\nhi\r\n0\r\n\r\n`,
    "hi",
    true,
  ],
  ["no reason phrase after its status", "HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nhi", "hi", true],
  ["an empty line before it", `\r\n${CHUNKED}2\r\nhi\r\n0\r\n\r\n`, "hi", true],
  ["a folded field", "HTTP/1.1 200 OK\r\nx: a\r\n  b\r\ncontent-length: 2\r\n\r\nhi", "hi", true],
  ["a connection: close field", "HTTP/1.1 200 OK\r\nConnection: x, Close\r\ncontent-length: 2\r\n\r\nhi", "hi", false],
  ["HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi", "hi", false],
  [
    "HTTP/1.0 that keeps its connection",
    "HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\ncontent-length: 2\r\n\r\nhi",
    "hi",
    true,
  ],
  ["bytes after its end", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi\r\n", "hi", false],
  ["bytes after its last chunk", `${CHUNKED}2\r\nhi\r\n0\r\n\r\nHTTP/1.1 200`, "hi", false],
];
for (const [name, answer, body, reusable] of GOOD) {
  test(`parses an answer with ${name}, in one piece and byte by byte`, () => {
    assert.deepEqual(heard([answer]), { ...whole, body, reusable });
    assert.deepEqual(heard(answer.split("")), { ...whole, body, reusable });
  });
}

test("ends a response without a length when the server closes the connection", () => {
  const answer = "HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: x\n\n";
  assert.deepEqual(heard([answer]), { ...whole, body: "data: x\n\n", complete: false, reusable: false });
  assert.deepEqual(heard([answer], true), { ...whole, body: "data: x\n\n", reusable: false });
});

test("expects no body for some status codes, whatever the headers contain", () => {
  for (const status of [204, 304]) {
    const answer = `HTTP/1.1 ${status} X\r\ncontent-length: 9\r\n\r\n`;
    assert.deepEqual(heard([answer]), { ...whole, status, body: "" });
  }
});

test("reports a response as incomplete wherever it breaks off", () => {
  for (const answer of [
    `${CHUNKED}5\r\nhello\r\n0\r\nx: y\r\n\r\n`,
    "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
  ]) {
    for (let length = 0; length < answer.length; length++) {
      const { complete, fault } = heard([answer.slice(0, length)], true);
      assert.deepEqual({ complete, fault }, { complete: false, fault: undefined });
    }
  }
});

const BAD: [name: string, answer: string, body?: string][] = [
  ["of another protocol", "SSH-2.0-x\r\n\r\n"],
  ["of another HTTP version", "HTTP/2 200 OK\r\n\r\n"],
  ["without a status", "HTTP/1.1 OK\r\n\r\n"],
  ["that changes the protocol", "HTTP/1.1 101 Switching Protocols\r\n\r\n"],
  ["with a line that is no field", "HTTP/1.1 200 OK\r\nnothing\r\n\r\n"],
  ["with a blank before a colon", "HTTP/1.1 200 OK\r\ncontent-length : 2\r\n\r\nhi"],
  ["with a line feed in its head", "HTTP/1.1 200 OK\r\na: b\ncontent-length: 2\r\n\r\nhi"],
  ["with a zero byte in its head", "HTTP/1.1 200 OK\r\na: \0\r\n\r\nhi"],
  ["with two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nhi!"],
  ["with a length that is no number", "HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\nhi"],
  ["with a length beside its chunks", `${CHUNKED.slice(0, -2)}content-length: 2\r\n\r\n2\r\nhi\r\n0\r\n\r\n`],
  ["that is compressed", "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n"],
  ["with a head without end", `HTTP/1.1 200 OK\r\nx: ${"x".repeat(17_000)}`],
  ["with interim answers without end", "HTTP/1.1 100 Continue\r\n\r\n".repeat(1000)],
  ["with a chunk without a size", `${CHUNKED}\r\n`],
  ["with a chunk size that is not a number", `${CHUNKED}2\r\nhi\r\nx\r\n`, "hi"],
  ["with a negative chunk size", `${CHUNKED}-2\r\nhi\r\n`],
  ["with a chunk size that is not an exact integer", `${CHUNKED}20000000000000\r\nhi\r\n`],
  ["with a chunk size of zeros without end", `${CHUNKED}${"0".repeat(17_000)}`],
  ["with a chunk that contains more bytes than its size line declares", `${CHUNKED}2\r\nhi!\r\n`, "hi"],
  ["with a bare line feed after a chunk size", `${CHUNKED}2\nhi\r\n`],
  ["with a CR without LF after a chunk size", `${CHUNKED}2\rhi\r\n`],
  ["with a line feed after a chunk", `${CHUNKED}2\r\nhi\n0\r\n\r\n`, "hi"],
  ["with a line feed in an extension", `${CHUNKED}2;x\nhi\r\n`],
  ["with an extension without end", `${CHUNKED}2;${"x".repeat(17_000)}`],
  ["with a line feed in a trailer", `${CHUNKED}2\r\nhi\r\n0\r\nx: y\n\r\n`, "hi"],
  ["with a line feed for trailers", `${CHUNKED}2\r\nhi\r\n0\r\n\n`, "hi"],
  ["with trailers without end", `${CHUNKED}2\r\nhi\r\n0\r\nx: ${"x".repeat(17_000)}`, "hi"],
];
for (const [name, answer, body = ""] of BAD) {
  test(`refuses a response ${name}, passes on the body before the error and ignores all bytes after it`, () => {
    for (const pieces of [[answer], answer.split("")]) {
      const after = heard([...pieces, "2\r\nno\r\n"], true);
      assert.equal(typeof after.fault, "string");
      assert.deepEqual({ body: after.body, complete: after.complete }, { body, complete: false });
    }
  });
}

test("passes on every body byte once and in order, for chunks and reads of any size", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 40 });
  const property = fc.property(
    fc.uint8Array({ maxLength: 3000 }),
    sizes,
    sizes,
    fc.boolean(),
    (bytes, chunks, reads, close) => {
      const parts: Buffer[] = [
        Buffer.from(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n${close ? "connection: close\r\n" : ""}\r\n`),
      ];
      for (const part of cut(Buffer.from(bytes), chunks))
        parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n"));
      parts.push(Buffer.from("0\r\n\r\n"));
      const parser = new AnswerParser();
      const body = cut(Buffer.concat(parts), reads).map((read) => Buffer.from(parser.push(Buffer.from(read))));
      assert.ok(Buffer.concat(body).equals(bytes));
      assert.ok(parser.complete);
      assert.equal(parser.reusable, !close);
    },
  );
  fc.assert(property);
});

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] as number;
    parts.push(bytes.subarray(at, at + size));
    at += size;
  }
  return parts;
}
