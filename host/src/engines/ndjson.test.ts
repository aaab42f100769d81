import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { EngineError } from "./engine.ts";
import { NdjsonReader } from "./ndjson.ts";

function read(parts: readonly Uint8Array[]): string[] {
  const reader = new NdjsonReader();
  return [...parts.flatMap((part) => reader.push(part)), ...reader.end()];
}

test("lines come whole wherever the stream is cut; empty ones mean nothing", () => {
  const bytes = Buffer.from('{"a":"naïve 日本 😀"}\n\n{"b":2}\r\n{"c":3}');
  const expected = ['{"a":"naïve 日本 😀"}', '{"b":2}\r', '{"c":3}'];
  assert.deepEqual(read([bytes]), expected);
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
      const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
      const parts = edges.slice(1).map((edge, i) => bytes.subarray(edges[i], edge));
      assert.deepEqual(read(parts), expected);
    }),
  );
});

test("a line without end is refused", () => {
  const reader = new NdjsonReader();
  const endless = Buffer.alloc(64 * 1024, "x");
  assert.throws(() => {
    for (let i = 0; i < 20; i++) reader.push(endless);
  }, EngineError);
});
