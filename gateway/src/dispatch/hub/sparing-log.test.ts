import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import { createLog } from "../../base/log.ts";
import { manualClock } from "../../base/testing.ts";
import { sparingLog } from "./sparing-log.ts";

test("sixty lines a minute, then how many there would have been", () => {
  const lines: { msg: string; n?: number; lines?: number }[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  const clock = manualClock();
  const log = sparingLog(createLog("info", sink), clock);
  for (let n = 0; n < 1_000; n++) log.warn({ n }, "a stranger");
  assert.equal(lines.length, 60);
  clock.advance(59_999);
  log.info({}, "a stranger");
  assert.equal(lines.length, 60);
  clock.advance(1);
  log.info({}, "the next one");
  assert.deepEqual(
    lines.slice(60).map(({ msg, lines: more }) => [msg, more]),
    [
      ["plane: more of the kind was not written", 941],
      ["the next one", undefined],
    ],
  );
});
