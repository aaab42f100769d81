import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "./log.ts";
import {
  isDescriptorReserveUsed,
  isHalfDescriptorReserveUsed,
  systemOpenFiles,
  watchOpenFiles,
} from "./open-file-limit.ts";
import { manualClock } from "./testing.ts";

test("an eighth of all file descriptors, at most 256, is a reserve; bursts of connections may use half of it", () => {
  for (const [max, last] of [
    [64, 56],
    [1_024, 896],
    [1_000_000, 999_744],
  ] as const) {
    assert.equal(isDescriptorReserveUsed({ open: last, max }), false);
    assert.equal(isDescriptorReserveUsed({ open: last + 1, max }), true);
    const half = (last + max) / 2;
    assert.equal(isHalfDescriptorReserveUsed({ open: half, max }), false);
    assert.equal(isHalfDescriptorReserveUsed({ open: half + 1, max }), true);
  }
});

test("the descriptor count adds connections immediately, reads all descriptors every second, and logs a shortage once a minute", () => {
  const clock = manualClock();
  const lines: { level: number; msg: string; open: number; max: number }[] = [];
  const log = createLog("info", { write: (line: string) => void lines.push(JSON.parse(line)) });
  let open = 55;
  const watch = watchOpenFiles({ files: { count: () => open, max: 64 }, clock, log });
  const ends = [watch.connected()];
  assert.equal(watch.refuses(), false);
  ends.push(watch.connected());
  assert.equal(watch.refuses(), true);
  ends.pop()?.();
  assert.equal(watch.refuses(), false);
  open = 60;
  clock.advance(1_000);
  assert.deepEqual(watch.state(), { open: 60, max: 64 });
  for (let i = 0; i < 20; i++) assert.equal(watch.refuses(), true);
  assert.deepEqual(
    lines.map(({ level, open: told }) => [level, told]),
    [[50, 57]],
  );
  clock.advance(60_000);
  assert.equal(watch.refuses(), true);
  assert.deepEqual([lines.length, lines.at(-1)?.open], [2, 60]);
  assert.equal(watch.refusesConnections(), false);
  watch.connected();
  assert.equal(watch.refusesConnections(), true);
  watch.stop();
});

test("the descriptor count is read from /proc where that exists", { skip: process.platform !== "linux" }, () => {
  const files = systemOpenFiles() ?? assert.fail("no /proc");
  assert.ok(files.count() > 0 && files.count() < files.max);
});
