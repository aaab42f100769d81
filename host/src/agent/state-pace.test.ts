/** How often a node reports: at once when something changes, and never so often that a gateway would cut it off. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { STATE_REQUEST } from "@tollgate/protocol/subjects.ts";
import { turn } from "../clock.ts";
import { AgentBench } from "../testing/bench.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { Paced } from "./paced.ts";

test("at once while it is seldom, then at a steady pace, and the last of what fell due is never lost", () => {
  const clock = new ManualClock();
  const start = clock.now();
  const done: number[] = [];
  const paced = new Paced(clock, { perSecond: 10, burst: 3 }, () => done.push(clock.now() - start));
  for (let i = 0; i < 250; i++) {
    paced.due();
    clock.advance(1);
  }
  assert.deepEqual(done.slice(0, 3), [0, 1, 2]);
  const pauses = done.slice(3).map((at, i) => at - (i === 0 ? 0 : (done[i + 2] as number)));
  assert.ok(pauses.length === 2 && pauses.every((ms) => ms >= 100 && ms <= 102), String(done));
  clock.advance(1_000);
  assert.equal(done.length, 6, "the last one is done, and once");
  paced.due();
  assert.equal(done.length, 7, "at once again after a quiet time");
  for (let i = 0; i < 10; i++) paced.due();
  assert.equal(done.length, 9);
  paced.stop();
  clock.advance(1_000);
  assert.equal(done.length, 9);
});

test("a node with a hundred jobs a second reports twenty times at most, and its last report is true", async () => {
  const bench = new AgentBench({ slots: 2 });
  await bench.online();
  const before = bench.states().length;
  for (let i = 0; i < 100; i++) {
    await bench.plane.ending(bench.script({ text: "ok" }));
    await turn(bench.clock);
    bench.plane.send(STATE_REQUEST, new Uint8Array(0));
    bench.clock.advance(10);
  }
  const reports = bench.states().length - before;
  assert.ok(reports >= 12 && reports <= 20, `${reports} reports within a second`);
  const stuck = bench.script({ stall_after: 0 });
  await turn(bench.clock);
  bench.clock.advance(100);
  assert.equal(bench.states().at(-1)?.busy, 1);
  bench.cancel(stuck);
  await turn(bench.clock);
  await turn(bench.clock);
  bench.clock.advance(100);
  assert.equal(bench.states().at(-1)?.busy, 0);
  await bench.agent.stop();
});
