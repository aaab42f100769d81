import assert from "node:assert/strict";
import { test } from "node:test";
import { openProgress } from "./progress.ts";

/** Timers that the test fires, and a stream that records the written text. */
function stage(isWatched: boolean) {
  const calls = new Set<() => void>();
  const timer = (_ms: number, call: () => void) => {
    calls.add(call);
    return () => void calls.delete(call);
  };
  let written = "";
  const out = {
    write(text: string | Uint8Array) {
      written += text;
      return true;
    },
  };
  const progress = openProgress(out, isWatched, { every: timer, after: timer });
  const fire = (): void => {
    for (const call of [...calls]) call();
  };
  return { progress, fire, calls, written: () => written };
}

test("on a terminal, a step is shown immediately with a spinner, and removed at the end", () => {
  const { progress, fire, calls, written } = stage(true);
  progress.step("starting");
  fire();
  progress.step("migrating");
  progress.done();
  assert.equal(written(), "\r\x1b[2K⠋ starting…\r\x1b[2K⠙ starting…\r\x1b[2K⠹ migrating…\r\x1b[2K");
  assert.equal(calls.size, 0);
  progress.done();
});

test("without a terminal, a step that lasts a while is printed as one line", () => {
  const { progress, fire, calls, written } = stage(false);
  progress.step("quick");
  progress.step("slow");
  fire();
  progress.done();
  assert.equal(written(), "slow…\n");
  assert.equal(calls.size, 0);
});
