import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Away } from "../base/dependency.ts";
import { manualClock } from "../base/testing.ts";
import { Batcher } from "./batcher.ts";
import { isConnectionLoss } from "./errors.ts";

const lost = (): Error => Object.assign(new Error("lost"), { code: "ECONNRESET" });
const refused = (): Error => Object.assign(new Error("refused"), { code: "23514" });

/** A batcher whose sends wait to be answered by the test. */
function open(options: { waitMaxMs?: number } = {}) {
  const clock = manualClock();
  const sent: { ops: string[]; answer: PromiseWithResolvers<string[]> }[] = [];
  const undone: string[] = [];
  const batcher = new Batcher<string, string>(
    (ops) => {
      const answer = Promise.withResolvers<string[]>();
      sent.push({ ops, answer });
      return answer.promise;
    },
    { clock, sizeMax: 10, isConnectionLoss, undo: (op) => undone.push(op), ...options },
  );
  const last = () => sent.at(-1) as (typeof sent)[number];
  return { clock, sent, undone, batcher, last };
}

test("without a limit it fails once, with its batch, and whoever asked decides", async () => {
  const { batcher, last, sent, undone } = open();
  const asked = [batcher.add("a"), batcher.add("b")].map((result) => result.catch((error) => error.code));
  await turn();
  last().answer.reject(lost());
  assert.deepEqual(await Promise.all(asked), ["ECONNRESET", "ECONNRESET"]);
  assert.equal(sent.length, 1);
  assert.deepEqual(undone, ["a", "b"]);
});

test("with a limit a lost connection is tried again, after 100 ms and then ever later", async () => {
  const { batcher, last, sent, clock } = open({ waitMaxMs: 2_000 });
  const asked = batcher.add("a");
  for (const pauseMs of [100, 200, 400]) {
    await turn();
    const tries = sent.length;
    last().answer.reject(lost());
    await turn();
    clock.advance(pauseMs - 1);
    await turn();
    assert.equal(sent.length, tries);
    clock.advance(1);
  }
  await turn();
  last().answer.resolve(["done"]);
  assert.equal(await asked, "done");
});

test("a store that is known to be away is not tried again, and nothing has to be undone", async () => {
  const { batcher, last, undone } = open({ waitMaxMs: 2_000 });
  const asked = batcher.add("a");
  await turn();
  last().answer.reject(new Away("database", "no answer"));
  await assert.rejects(asked, Away);
  await turn();
  assert.deepEqual(undone, []);
});

test("what the store went away with is not tried again either, and is undone", async () => {
  const { batcher, last, undone } = open({ waitMaxMs: 2_000 });
  const asked = batcher.add("a");
  await turn();
  last().answer.reject(new Away("database", "no answer", { maybeDone: true }));
  await assert.rejects(asked, Away);
  await turn();
  assert.deepEqual(undone, ["a"]);
});

test("nobody waits for a store that hangs: what was sent is undone when its end is known, what was not is never sent", async () => {
  const { batcher, last, sent, clock, undone } = open({ waitMaxMs: 2_000 });
  const first = batcher.add("sent").catch((error) => error);
  await turn();
  clock.advance(500);
  const second = batcher.add("queued").catch((error) => error);
  clock.advance(2_000);
  assert.ok((await first) instanceof Away);
  assert.ok((await second) instanceof Away);
  await batcher.idle();
  assert.deepEqual(undone, [], "the store may be doing it just now");
  last().answer.resolve(["done"]);
  await turn();
  assert.deepEqual(undone, ["sent"]);
  assert.equal(sent.length, 1);
  const third = batcher.add("next");
  await turn();
  assert.deepEqual(last().ops, ["next"]);
  last().answer.resolve(["done"]);
  assert.equal(await third, "done");
});

test("one that is given up after its connection was lost is undone, too", async () => {
  const { batcher, last, clock, undone } = open({ waitMaxMs: 2_000 });
  const asked = batcher.add("a").catch((error) => error.code);
  await turn();
  last().answer.reject(lost());
  await turn();
  clock.advance(100);
  await turn();
  clock.advance(1_900);
  assert.equal(await asked, "ECONNRESET");
  last().answer.reject(lost());
  await turn();
  assert.deepEqual(undone, ["a"]);
});

test("what the store refuses fails alone", async () => {
  const { batcher, last, undone } = open({ waitMaxMs: 2_000 });
  const asked = ["good", "bad"].map((op) => batcher.add(op).catch((error) => error.code));
  await turn();
  last().answer.reject(refused());
  await turn();
  last().answer.resolve(["done"]);
  await turn();
  last().answer.reject(refused());
  assert.deepEqual(await Promise.all(asked), ["done", "23514"]);
  assert.deepEqual(undone, []);
});

test("how large batches are, how long operations wait for theirs, and how long one is on its way", async () => {
  const { batcher, last, clock } = open();
  const first = batcher.add("a");
  await turn();
  const others = [batcher.add("b"), batcher.add("c")];
  clock.advance(300);
  last().answer.resolve(["a"]);
  await turn();
  clock.advance(40);
  last().answer.resolve(["b", "c"]);
  await Promise.all([first, ...others]);
  const { sizes, waitS, tripS } = batcher.figures;
  const spread = ({ bounds, counts }: typeof sizes) =>
    counts.flatMap((count, i) => (count === 0 ? [] : [[bounds[i], count]]));
  assert.deepEqual(spread(sizes), [
    [1, 1],
    [2, 1],
  ]);
  assert.deepEqual(spread(waitS), [
    [0.0005, 1],
    [0.5, 2],
  ]);
  assert.deepEqual(spread(tripS), [
    [0.05, 1],
    [0.5, 1],
  ]);
  assert.equal(sizes.sum, 3);
});
