import assert from "node:assert/strict";
import { test } from "node:test";
import { turn } from "../clock.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { EngineError } from "./engine.ts";
import type { Life } from "./engine-http.ts";
import { Vigil } from "./vigil.ts";

function harness(life: Life) {
  const clock = new ManualClock();
  const told: number[] = [];
  const state = { life };
  const vigil = new Vigil({ clock, tell: (read) => told.push(read), life: async () => state.life });
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i++) {
      clock.advance(1000);
      await turn(clock);
    }
  };
  return { vigil, told, pass, state };
}

test("an engine whose server answers is told to be at work every second, until it speaks", async () => {
  const { vigil, told, pass } = harness("answers");
  await pass(10);
  assert.equal(told.length, 10);
  vigil.spoke();
  await pass(5);
  assert.equal(told.length, 10);
  vigil.end();
});

test("a frozen engine is not covered for: within seconds nothing more is told", async () => {
  const { vigil, told, pass, state } = harness("answers");
  await pass(3);
  state.life = "slow";
  await pass(20);
  assert.ok(told.length < 3 + 7, `${told.length} times`);
  state.life = "answers";
  const before = told.length;
  await pass(3);
  assert.ok(told.length > before, "it thawed");
  vigil.end();
});

test("a server that answers while its model hangs is given up after a minute", async () => {
  const { vigil, pass } = harness("answers");
  await pass(59);
  assert.equal(vigil.signal.aborted, false);
  await pass(1);
  assert.ok(vigil.signal.aborted && vigil.signal.reason instanceof EngineError);
  vigil.end();
});

test("what the engine says of its prompt is told at once, and is what is told until more is known", async () => {
  const { vigil, told, pass } = harness("answers");
  vigil.read(0.25);
  await pass(2);
  vigil.read(0.5);
  assert.deepEqual(told, [0.25, 0.25, 0.25, 0.5]);
  await pass(59);
  assert.equal(vigil.signal.aborted, false, "its progress counts as words");
  vigil.end();
});

test("an engine that falls silent in the middle of its answer is given up, too", async () => {
  const { vigil, pass } = harness("answers");
  vigil.spoke();
  await pass(61);
  assert.equal(vigil.signal.aborted, true);
  vigil.end();
  assert.equal(await pass(1), undefined);
});
