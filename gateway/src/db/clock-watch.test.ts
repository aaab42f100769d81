import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../base/log.ts";
import { manualClock } from "../base/testing.ts";
import { ClockWatch } from "./clock-watch.ts";

const HOUR_MS = 60 * 60 * 1000;

test("a clock that is off is told once a minute, with how much; hours are an error; a slow answer is no difference", () => {
  const clock = manualClock();
  const lines: { level: number; msg: string; seconds: number }[] = [];
  const log = createLog("info", { write: (line: string) => void lines.push(JSON.parse(line)) });
  const watch = new ClockWatch({ clock, log });
  assert.equal(watch.offsetMs, null);
  const see = (offMs: number, roundTripMs = 0) =>
    watch.compare({ theirs: clock.now() + roundTripMs / 2 + offMs, sentAt: clock.now(), roundTripMs });

  see(9_000);
  see(12_000, 6_000);
  assert.equal(lines.length, 0);
  assert.equal(watch.offsetMs, 12_000);

  see(-11_000);
  clock.advance(59_999);
  see(-11_000);
  assert.equal(lines.length, 1);
  clock.advance(1);
  see(3 * HOUR_MS);
  const texts = lines.map(({ msg }) => msg);
  assert.deepEqual(
    lines.map(({ level, seconds }) => [level, seconds]),
    [
      [40, 11],
      [50, 10_800],
    ],
  );
  assert.match(texts[0] ?? "", /clock is ahead of the database's/);
  assert.match(texts[1] ?? "", /clock is behind the database's/);
});
