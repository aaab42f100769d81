import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { StopStringMatcher } from "./stop-strings.ts";

function cut(stops: string[], pieces: string[]): { text: string; stopped: boolean } {
  const matcher = new StopStringMatcher(stops);
  let text = "";
  for (const piece of pieces) {
    const { text: more, stopped } = matcher.push(piece);
    text += more;
    if (stopped) return { text, stopped: true };
  }
  return { text: text + matcher.end(), stopped: false };
}

/** A simple but slow implementation of the same rule, to compare with. */
function expected(stops: string[], text: string): { text: string; stopped: boolean } {
  for (let end = 1; end <= text.length; end++) {
    const found = stops.filter((stop) => text.slice(0, end).endsWith(stop)).map((stop) => stop.length);
    if (found.length > 0) return { text: text.slice(0, end - Math.max(...found)), stopped: true };
  }
  return { text, stopped: false };
}

describe("stop strings", () => {
  for (const [stops, pieces, text, stopped] of [
    [["END"], ["a b END c"], "a b ", true],
    [["END"], ["a E", "N", "D c"], "a ", true],
    // The character that breaks one match begins another match.
    [["END"], ["a EN", "E", "ND"], "a EN", true],
    [["END"], ["a EN"], "a EN", false],
    [["END"], ["END"], "", true],
    [["b", "abc"], ["abc"], "a", true],
    [["bc", "abc"], ["xabc"], "x", true],
    [["aab"], ["aaaab"], "aa", true],
    [["😀!"], ["so 😀", "?"], "so 😀?", false],
    [["\ude00"], ["so 😀"], "so 😀", false],
    [[], ["anything"], "anything", false],
  ] as [string[], string[], string, boolean][]) {
    test(`${JSON.stringify(stops)} cut ${JSON.stringify(pieces)} to ${JSON.stringify(text)}`, () => {
      assert.deepEqual(cut(stops, pieces), { text, stopped });
    });
  }

  test("end the output before their first complete match, however the output is split into deltas", () => {
    const unit = fc.constantFrom("a", "b", "ab", "\n", "😀");
    const words = (length: number) => fc.array(unit, { minLength: 1, maxLength: length }).map((all) => all.join(""));
    fc.assert(
      fc.property(
        fc.array(words(4), { minLength: 1, maxLength: 4 }),
        fc.array(words(5), { maxLength: 12 }),
        (stops, pieces) => {
          assert.deepEqual(cut(stops, pieces), expected(stops, pieces.join("")));
        },
      ),
      { numRuns: 3000 },
    );
  });

  test("hold back only text that may be the beginning of a stop string", () => {
    const matcher = new StopStringMatcher(["\n\nUser:", "END"]);
    for (const [piece, shown] of [
      ["Hello", "Hello"],
      [" there\n", " there"],
      ["\n", ""],
      ["User", ""],
      [" story", "\n\nUser story"],
      [" E", " "],
      ["x", "Ex"],
    ] as const) {
      assert.deepEqual(matcher.push(piece), { text: shown, stopped: false });
    }
    assert.equal(matcher.end(), "");
  });

  test("are found in later text after the held-back text was released", () => {
    const matcher = new StopStringMatcher(["END"]);
    assert.deepEqual(matcher.push("an EN"), { text: "an ", stopped: false });
    assert.equal(matcher.end(), "EN");
    assert.deepEqual(matcher.push("D"), { text: "D", stopped: false });
    assert.deepEqual(matcher.push("x END"), { text: "x ", stopped: true });
  });

  test("need work in proportion to the length of the output, whatever the stop strings", () => {
    const almost = `${"a".repeat(2_047)}b`;
    const stops = [
      almost,
      "a".repeat(2_048).replace(/.$/, "c"),
      `${"ab".repeat(1_023)}aa`,
      "a".repeat(2_047).concat("d"),
    ];
    for (const output of ["a".repeat(40_000), "ab".repeat(20_000), `${"a".repeat(2_047)}x`.repeat(20)]) {
      const matcher = new StopStringMatcher(stops);
      for (const character of output) assert.equal(matcher.push(character).stopped, false);
      assert.ok(matcher.steps <= 2 * stops.length * output.length, `${matcher.steps} steps`);
    }
  });
});
