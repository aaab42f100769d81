import assert from "node:assert/strict";
import { test } from "node:test";
import { type CancelSignal, CancelSource } from "./cancel-signal.ts";

/** Every test also runs against Node.js's own AbortSignal, because callers may pass either kind. */
const KINDS: [string, () => { signal: CancelSignal; abort: () => void }][] = [
  [
    "ours",
    () => {
      const leaving = new CancelSource();
      return { signal: leaving, abort: () => leaving.abort() };
    },
  ],
  [
    "Node's",
    () => {
      const controller = new AbortController();
      return { signal: controller.signal, abort: () => controller.abort() };
    },
  ],
];

for (const [whose, open] of KINDS) {
  test(`${whose}: calls each listener once, in order, and no removed listener`, () => {
    const { signal, abort } = open();
    const called: string[] = [];
    const leaves = (): void => void called.push("leaves");
    signal.addEventListener("abort", () => called.push("first"));
    signal.addEventListener("abort", leaves);
    signal.addEventListener("abort", () => called.push(`then ${signal.aborted}`));
    signal.removeEventListener("abort", leaves);
    signal.removeEventListener("abort", leaves);
    assert.equal(signal.aborted, false);
    abort();
    abort();
    assert.deepEqual(called, ["first", "then true"]);
  });

  test(`${whose}: does not call a listener that is added after the cancellation`, () => {
    const { signal, abort } = open();
    abort();
    signal.addEventListener("abort", () => assert.fail("it is over"));
    abort();
    assert.equal(signal.aborted, true);
  });
}
