import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { eventParser, type ServerEvent } from "./event-stream.ts";

const TEXT =
  'retry: 2000\n\nevent: balance\ndata: {"a":1}\n\n: keep-alive\n\ndata: one\ndata: two\n\nevent: cut\ndata: of';

function parse(pieces: string[]): ServerEvent[] {
  const seen: ServerEvent[] = [];
  const take = eventParser((event) => seen.push(event));
  for (const piece of pieces) take(piece);
  return seen;
}

test("parses complete events from text in arbitrary pieces, and skips comments", () => {
  const whole = [
    { event: "balance", data: '{"a":1}' },
    { event: "message", data: "one\ntwo" },
  ];
  assert.deepEqual(parse([TEXT]), whole);
  fc.assert(
    fc.property(fc.array(fc.nat(TEXT.length)), (cuts) => {
      const at = [0, ...cuts.toSorted((a, b) => a - b), TEXT.length];
      const pieces = at.slice(1).map((end, i) => TEXT.slice(at[i], end));
      assert.deepEqual(parse(pieces), whole);
    }),
  );
});
