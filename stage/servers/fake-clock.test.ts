import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createProcess } from "../killable-process.ts";
import { eventually } from "../wait.ts";
import { explainMissingFakeClock, openFakeClock } from "./fake-clock.ts";

const skip = explainMissingFakeClock() ?? false;

/** A program that prints every 50 ms the wall time, the monotonic time and the number of lines so far. */
const TELLER = `
  let ticks = 0;
  setInterval(() => console.log(JSON.stringify([Date.now(), performance.now(), ++ticks])), 50);
`;

test("a test can shift the wall clock of a running process without its timers and its monotonic clock", {
  skip,
}, async (t) => {
  const clock = await openFakeClock();
  const directory = await mkdtemp(join(tmpdir(), "tollgate-chaos-test-"));
  const teller = createProcess({
    name: "teller",
    command: [process.execPath, "-e", TELLER],
    environment: { ...process.env, ...clock.environment },
    log: join(directory, "log"),
  });
  t.after(async () => {
    await teller.kill();
    await clock.close();
    await rm(directory, { recursive: true });
  });
  await teller.start();
  const said = async (): Promise<[number, number, number][]> =>
    (await teller.log())
      .trim()
      .split("\n")
      .filter((line) => line.endsWith("]"))
      .map((line) => JSON.parse(line));
  const isOff = async (offsetS: number): Promise<void> => {
    const from = (await said()).length;
    await eventually(`it is ${offsetS} s off`, async () => {
      const lines = await said();
      const last = lines.at(-1);
      return lines.length > from + 2 && last !== undefined && Math.abs(last[0] - Date.now() - offsetS * 1000) < 2000;
    });
  };
  await isOff(0);
  for (const offsetS of [7200, -7200, 90, 0]) {
    await clock.jump(offsetS);
    assert.equal(clock.offsetS(), offsetS);
    await isOff(offsetS);
  }
  const all = await said();
  const [first, last] = [all[0], all.at(-1)];
  assert.ok(first && last);
  // Within the test, which takes less than an hour, the wall clock advanced by more than two hours.
  const steps = all.slice(1).map(([, passed], i) => passed - (all[i]?.[1] ?? 0));
  assert.ok(
    steps.every((ms) => ms > 0 && ms < 3_600_000),
    "the monotonic clock has not jumped",
  );
  // A timer that followed the wall clock would have fired thousands of times, or not at all for two hours.
  assert.ok(last[2] <= (last[1] - first[1]) / 49 + 5, `${last[2]} ticks`);
});
