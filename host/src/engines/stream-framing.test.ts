import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { EngineError } from "./engine.ts";
import { NdjsonReader, SseReader } from "./stream-framing.ts";

function readEvents(parts: readonly Uint8Array[]): string[] {
  const reader = new SseReader();
  return [...parts.flatMap((part) => reader.push(part)), ...reader.end()];
}

const whole = (text: string): string[] => readEvents([Buffer.from(text)]);

test("returns the data lines of server-sent events, and skips comments and other fields", () => {
  assert.deepEqual(whole(": hello\n\nevent: x\nid: 3\ndata: one\n\ndata:two\ndata: three\n\n"), ["one", "two\nthree"]);
});

test("reports comments as they arrive", () => {
  const comments: string[] = [];
  const reader = new SseReader((text) => comments.push(text));
  assert.deepEqual(reader.push(Buffer.from(": keepalive 1/2\n\ndata: x\n\n:end\n")), ["x"]);
  assert.deepEqual(comments, [" keepalive 1/2", "end"]);
});

test("accepts lines that end with CR, LF or both", () => {
  assert.deepEqual(whole("data: a\r\n\r\ndata: b\r\rdata: c\n\n"), ["a", "b", "c"]);
});

test("returns the last event even if the blank line after it is missing", () => {
  assert.deepEqual(whole("data: a\n\ndata: b"), ["a", "b"]);
});

test("returns the same events wherever the stream is split", () => {
  const text = ': x\r\ndata: {"text":"naïve 日本 😀"}\r\n\r\ndata: a\r\ndata: b\n\n\r\ndata: [DONE]\n\n';
  const bytes = Buffer.from(text);
  const expected = whole(text);
  assert.equal(expected.length, 3);
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
      const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
      const parts = edges.slice(1).map((edge, i) => bytes.subarray(edges[i], edge));
      assert.deepEqual(readEvents(parts), expected);
    }),
  );
});

test("refuses a line or an event that exceeds the size limit", () => {
  const endless = Buffer.alloc(64 * 1024, "x");
  const line = new SseReader();
  assert.throws(() => {
    for (let i = 0; i < 20; i++) line.push(endless);
  }, EngineError);
  const event = new SseReader();
  const dataLine = Buffer.concat([Buffer.from("data: "), endless, Buffer.from("\n")]);
  assert.throws(() => {
    for (let i = 0; i < 20; i++) event.push(dataLine);
  }, EngineError);
});

function readLines(parts: readonly Uint8Array[]): string[] {
  const reader = new NdjsonReader();
  return [...parts.flatMap((part) => reader.push(part)), ...reader.end()];
}

test("returns the same JSON lines wherever the stream is split, and skips empty lines", () => {
  const bytes = Buffer.from('{"a":"naïve 日本 😀"}\n\n{"b":2}\r\n{"c":3}');
  const expected = ['{"a":"naïve 日本 😀"}', '{"b":2}\r', '{"c":3}'];
  assert.deepEqual(readLines([bytes]), expected);
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
      const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
      const parts = edges.slice(1).map((edge, i) => bytes.subarray(edges[i], edge));
      assert.deepEqual(readLines(parts), expected);
    }),
  );
});

test("refuses a JSON line that exceeds the size limit", () => {
  const reader = new NdjsonReader();
  const endless = Buffer.alloc(64 * 1024, "x");
  assert.throws(() => {
    for (let i = 0; i < 20; i++) reader.push(endless);
  }, EngineError);
});
