import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { EngineError } from "./engine.ts";
import type { EngineApiDialect, StreamEvent } from "./profiles/engine-profile.ts";
import { genericProfile } from "./profiles/generic-engine.ts";
import { ollamaProfile } from "./profiles/ollama.ts";
import { StreamEventReader } from "./stream-event-reader.ts";

/** Reads an event and returns the result or the error's text. */
function outcome(read: (data: string) => StreamEvent, data: string): StreamEvent | string {
  try {
    return read(data);
  } catch (error) {
    if (error instanceof EngineError) return error.message;
    throw error;
  }
}

/** Asserts that the reader returns the same as parsing every event. */
function assertSame(dialect: EngineApiDialect, events: readonly string[]): void {
  const reader = new StreamEventReader(dialect.read);
  for (const data of events) {
    const expected = outcome(dialect.read, data);
    assert.deepEqual(
      outcome((text) => reader.read(text), data),
      expected,
      data,
    );
  }
}

const chunk = (delta: object, more: object = {}): string =>
  JSON.stringify({ id: "x", choices: [{ index: 0, delta, finish_reason: null }], ...more });

test("parses only the first of several events that differ only in their text", () => {
  let parsed = 0;
  const reader = new StreamEventReader((data) => {
    parsed++;
    return genericProfile.dialect.read(data);
  });
  const words = ["The", " first", ' "quoted"', " \\ back", "\n", " é", "日本", "😀", "\u2028", " last"];
  assert.deepEqual(
    words.map((content) => reader.read(chunk({ content })).answer),
    words,
  );
  assert.equal(parsed, 2);
});

/** An event in the format of llama.cpp's server, with its Unix second. */
const ofSecond = (content: string, created: number | string): string =>
  `{"choices":[{"finish_reason":null,"index":0,"delta":{"content":${JSON.stringify(content)}}}],"created":${created},"id":"x"}`;

test('parses only the first of several events that differ only in text and the Unix time "created", wherever that is', () => {
  let parsed = 0;
  const reader = new StreamEventReader((data) => {
    parsed++;
    return genericProfile.dialect.read(data);
  });
  const seconds = [1_700_000_000, 1_700_000_000, 1_700_000_001, 1_700_000_002, 1_700_000_001];
  assert.deepEqual(
    seconds.map((second, nth) => reader.read(ofSecond(` ${nth}`, second)).answer),
    [" 0", " 1", " 2", " 3", " 4"],
  );
  assert.equal(parsed, 3);
  const first = new StreamEventReader(genericProfile.dialect.read);
  for (const second of seconds) {
    const event = `{"created":${second},"choices":[{"delta":{"content":" a"}}]}`;
    assert.deepEqual(first.read(event), genericProfile.dialect.read(event));
  }
});

test('returns the same as full parsing if the field "created" is not a Unix timestamp in seconds', () => {
  const odd = [
    "0700000001",
    "170000000",
    "17000000010",
    '"1700000001"',
    "1700000001.5",
    "-700000001",
    "1700000001e1",
    "null",
  ];
  assertSame(genericProfile.dialect, [
    ofSecond("a", 1_700_000_000),
    ...odd.flatMap((second) => [ofSecond("b", second), ofSecond("c", 1_700_000_003)]),
    ofSecond("d", 1_700_000_004).replace('"id"', '"error"'),
    ofSecond('x","created":1700000001,"y":"', 1_700_000_005),
    `${ofSecond("e", 1_700_000_006)}}`,
  ]);
});

test('returns the same as full parsing if an event differs from the one before in more than its text and the field "created"', () => {
  assertSame(genericProfile.dialect, [
    chunk({ role: "assistant", content: "" }),
    chunk({ content: "a" }),
    chunk({ content: "" }),
    chunk({ reasoning: "a" }),
    chunk({ reasoning: "b" }),
    chunk({ content: "c" }),
    chunk({ reasoning: "b", content: "c" }),
    chunk({ content: "d" }, { choices: [{ index: 0, delta: { content: "d" }, finish_reason: "length" }] }),
    chunk({ content: "d" }, { error: { message: "no" } }),
    chunk({ content: null }),
    "[DONE]",
    "{oops",
    "",
  ]);
});

test("finds the answer's text even if other fields of the event contain the same characters", () => {
  const same = (delta: object, more: object) => [1, 2, 3].map(() => chunk(delta, more));
  assertSame(genericProfile.dialect, [
    // The text also appears before its own field: as another field's value, as a key, and across two strings.
    ...same({ content: "x" }, {}),
    ...same({ content: "id" }, {}),
    ...same({ content: ":" }, { system: ":", other: ":" }),
    ...same({ content: "," }, { system: ":", other: ":" }),
    ...[" a", " b", "content"].map((content) => chunk({ role: "assistant", content }, { note: '"content":" a"' })),
    ...["p", "q"].map((text) => `{"choices":[{"delta":{"content":"p","content":${JSON.stringify(text)}}}]}`),
    ...["p", "q"].map((text) => `{"choices":[{"delta":{"content":${JSON.stringify(text)},"content":"p"}}]}`),
  ]);
});

test("returns the same as full parsing, whatever characters an event has in place of its text", () => {
  const before = '{"id":"x","choices":[{"index":0,"delta":{"content":"';
  const after = '"},"finish_reason":null}]}';
  const bits = ['"', "\\", '\\"', "\\u00e9", "\\ud83d", "\\ude00", "\\n", "\n", "\t", "a", " ", "é", "😀", "}", ","];
  const raw = fc.array(fc.constantFrom(...bits, '","content":"', '"},"finish_reason":"stop","x":{"y":"', "\\u12"), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(fc.array(raw, { minLength: 1, maxLength: 12 }), (middles) => {
      const events = middles.map((parts) => before + parts.join("") + after);
      assertSame(genericProfile.dialect, [`${before}first${after}`, ...events]);
    }),
    { numRuns: 500 },
  );
});

test("returns the same as full parsing for any text in any dialect", () => {
  const text = fc.string({ unit: "binary", maxLength: 6 });
  const line = (content: string): string =>
    JSON.stringify({ message: { role: "assistant", content, thinking: "" }, done: false });
  fc.assert(
    fc.property(fc.array(text, { maxLength: 12 }), (texts) => {
      assertSame(
        genericProfile.dialect,
        texts.map((content) => chunk({ content })),
      );
      assertSame(
        genericProfile.dialect,
        texts.map((words) => JSON.stringify({ choices: [{ text: words }] })),
      );
      assertSame(ollamaProfile.dialect, texts.map(line));
    }),
    { numRuns: 500 },
  );
});
