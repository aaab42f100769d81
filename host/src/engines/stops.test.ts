import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { StopStrings } from "./stops.ts";

function feed(parts: readonly string[], stops: readonly string[]): { text: string; stopped: boolean } {
  const cutter = new StopStrings(stops);
  let text = "";
  for (const part of parts) {
    const cut = cutter.push(part);
    text += cut.text;
    if (cut.stopped) return { text, stopped: true };
  }
  return { text: text + cutter.flush(), stopped: false };
}

/** The plain meaning: read letter by letter until the text ends with a stop string. */
function expected(whole: string, stops: readonly string[]): { text: string; stopped: boolean } {
  for (let to = 1; to <= whole.length; to++) {
    const ends = stops.filter((stop) => whole.slice(0, to).endsWith(stop)).map((stop) => stop.length);
    if (ends.length > 0) return { text: whole.slice(0, to - Math.max(...ends)), stopped: true };
  }
  return { text: whole, stopped: false };
}

test("text is cut before the stop string that is complete first, however the text comes in pieces", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 30 });
  const stop = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.array(letters, { maxLength: 8 }), fc.array(stop, { minLength: 1, maxLength: 4 }), (parts, stops) => {
      assert.deepEqual(feed(parts, stops), expected(parts.join(""), stops));
    }),
  );
});

test("text that cannot begin a stop string is shown at once", () => {
  const cutter = new StopStrings(["END"]);
  assert.deepEqual(cutter.push("hello E"), { text: "hello ", stopped: false });
  assert.deepEqual(cutter.push("xit"), { text: "Exit", stopped: false });
});

test("without stop strings nothing is held back", () => {
  assert.deepEqual(new StopStrings().push("anything"), { text: "anything", stopped: false });
});
