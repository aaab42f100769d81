import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import { createLog } from "./log.ts";
import { rateLimitedLog } from "./rate-limited-log.ts";
import { manualClock } from "./testing.ts";

function setting(options?: { linesOfOne: number }) {
  const lines: { msg: string; n?: number; unsaid?: number; of?: string }[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  const clock = manualClock();
  return { lines, clock, log: rateLimitedLog(createLog("info", sink), clock, options) };
}

test("the rate-limited log writes one line a minute per source and message, then one with the number of suppressed lines", () => {
  const { lines, clock, log } = setting();
  for (let n = 0; n < 1_000; n++) log.warn("a", { n }, "it floods");
  log.warn("b", { n: 1 }, "it floods");
  log.warn("a", { n: 2 }, "it does something else");
  assert.deepEqual(
    lines.map(({ msg, n, unsaid }) => [msg, n, unsaid]),
    [
      ["it floods", 0, undefined],
      ["it floods", 1, undefined],
      ["it does something else", 2, undefined],
    ],
  );
  clock.advance(59_999);
  log.warn("a", { n: 3 }, "it floods");
  assert.equal(lines.length, 3);
  clock.advance(1);
  log.warn("a", { n: 4 }, "it floods");
  log.warn("b", { n: 5 }, "it floods");
  assert.deepEqual(
    lines.slice(3).map(({ msg, n, unsaid }) => [msg, n, unsaid]),
    [
      ["it floods", 4, 1_000],
      ["it floods", 5, undefined],
    ],
  );
});

test("the rate-limited log writes sixty lines a minute for many sources, and one with the number of suppressed lines", () => {
  const { lines, clock, log } = setting();
  for (let n = 0; n < 1_000; n++) log.info(`stranger ${n}`, { n }, "it comes");
  assert.equal(lines.length, 60);
  log.info("stranger 0", { n: 0 }, "it comes");
  clock.advance(60_000);
  log.info("another", {}, "it comes");
  assert.deepEqual(
    lines.slice(60).map(({ msg, unsaid, of }) => [msg, unsaid, of]),
    [
      ["similar log lines were suppressed", 941, "it comes"],
      ["it comes", undefined, undefined],
    ],
  );
});

test("the rate-limited log writes several lines per source if configured, and returns whether it wrote each", () => {
  const { lines, clock, log } = setting({ linesOfOne: 3 });
  const written = Array.from({ length: 5 }, (_, n) => log.info("a", { n }, "it ended"));
  assert.deepEqual(written, [true, true, true, false, false]);
  assert.equal(log.info("b", {}, "it ended"), true);
  clock.advance(60_000);
  assert.equal(log.info("a", { n: 5 }, "it ended"), true);
  assert.deepEqual(
    lines.map(({ n, unsaid }) => [n, unsaid]),
    [
      [0, undefined],
      [1, undefined],
      [2, undefined],
      [undefined, undefined],
      [5, 2],
    ],
  );
});
