import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { UnreachableError } from "../base/dependency.ts";
import { manualClock } from "../base/testing.ts";
import { Batcher } from "./batcher.ts";
import { isConnectionLoss, isLockWait } from "./errors.ts";

const lost = (): Error => Object.assign(new Error("lost"), { code: "ECONNRESET" });
const waited = (): Error => Object.assign(new Error("waited"), { code: "55P03" });
const refused = (): Error => Object.assign(new Error("refused"), { code: "23514" });

/** Opens a batcher for which the test answers each batch that it sends. */
function open(options: { waitMaxMs?: number; locked?: Set<string> } = {}) {
  const clock = manualClock();
  const sent: { ops: string[]; answer: PromiseWithResolvers<string[]> }[] = [];
  const undone: string[] = [];
  const aside: typeof sent = [];
  const sendTo = (list: typeof sent) => (ops: string[]) => {
    const answer = Promise.withResolvers<string[]>();
    list.push({ ops, answer });
    return answer.promise;
  };
  const { locked, ...others } = options;
  const apart = locked && {
    send: sendTo(aside),
    // The first character of a test operation is its account.
    keysOf: (op: string) => [op.charAt(0)],
    locked: async () => locked,
    isWait: isLockWait,
  };
  const batcher = new Batcher<string, string>(sendTo(sent), {
    ...{ clock, sizeMax: 10, isConnectionLoss, undo: (op) => undone.push(op), ...others },
    ...(apart && { apart }),
  });
  const last = () => sent.at(-1) as (typeof sent)[number];
  const lastAside = () => aside.at(-1) as (typeof sent)[number];
  return { clock, sent, aside, undone, batcher, last, lastAside };
}

test("without a time limit, the batcher rejects a failed batch at once and leaves the retry to the caller", async () => {
  const { batcher, last, sent, undone } = open();
  const asked = [batcher.add("a"), batcher.add("b")].map((result) => result.catch((error) => error.code));
  await turn();
  last().answer.reject(lost());
  assert.deepEqual(await Promise.all(asked), ["ECONNRESET", "ECONNRESET"]);
  assert.equal(sent.length, 1);
  assert.deepEqual(undone, ["a", "b"]);
});

test("the batcher sends operations added in one event-loop turn as one batch, and later operations as the next batch", async () => {
  const { batcher, last, sent } = open();
  const asked = [batcher.add("a")];
  // Simulates data on a second socket in the same event-loop turn: adds "b" after the promises of "a" have run.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  await Promise.resolve();
  asked.push(batcher.add("b"));
  await turn();
  assert.deepEqual(last().ops, ["a", "b"]);
  asked.push(batcher.add("c"), batcher.add("d"));
  last().answer.resolve(["a", "b"]);
  await turn();
  assert.deepEqual(last().ops, ["c", "d"]);
  last().answer.resolve(["c", "d"]);
  assert.deepEqual(await Promise.all(asked), ["a", "b", "c", "d"]);
  assert.equal(sent.length, 2);
});

test("with a time limit, the batcher retries after a lost connection, with growing delays from 100 ms", async () => {
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

test("while the database is unreachable, the batcher fails an unsent operation without a retry, and sends no cancellation for it", async () => {
  const { batcher, last, undone } = open({ waitMaxMs: 2_000 });
  const asked = batcher.add("a");
  await turn();
  last().answer.reject(new UnreachableError("database", "no answer"));
  await assert.rejects(asked, UnreachableError);
  await turn();
  assert.deepEqual(undone, []);
});

test("the batcher undoes a sent batch instead of retrying when the database becomes unreachable", async () => {
  const { batcher, last, undone } = open({ waitMaxMs: 2_000 });
  const asked = batcher.add("a");
  await turn();
  last().answer.reject(new UnreachableError("database", "no answer", { maybeDone: true }));
  await assert.rejects(asked, UnreachableError);
  await turn();
  assert.deepEqual(undone, ["a"]);
});

test("when the database hangs, the batcher rejects callers, undoes sent operations later and drops the unsent ones", async () => {
  const { batcher, last, sent, clock, undone } = open({ waitMaxMs: 2_000 });
  const first = batcher.add("sent").catch((error) => error);
  await turn();
  clock.advance(500);
  const second = batcher.add("queued").catch((error) => error);
  clock.advance(2_000);
  assert.ok((await first) instanceof UnreachableError);
  assert.ok((await second) instanceof UnreachableError);
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

test("the batcher undoes an operation if its connection was lost and its time limit then passed", async () => {
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

test("the batcher fails only the operation that the database refuses", async () => {
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

test("the batcher sends a batch again without the operations of a locked account, which run separately", async () => {
  const { batcher, sent, aside, last, lastAside } = open({ locked: new Set(["a"]) });
  const asked = ["a1", "b1", "a2", "b2"].map((op) => batcher.add(op));
  await turn();
  last().answer.reject(waited());
  await turn();
  assert.deepEqual([last().ops, aside.map(({ ops }) => ops)], [["b1", "b2"], [["a1"]]]);
  last().answer.resolve(["b1", "b2"]);
  // The locked account does not delay operations that arrive meanwhile either.
  const more = ["a3", "b3"].map((op) => batcher.add(op));
  await turn();
  assert.deepEqual([last().ops, aside.length], [["b3"], 1]);
  last().answer.resolve(["b3"]);
  await turn();
  lastAside().answer.resolve(["a1"]);
  await turn();
  assert.deepEqual(last().ops, ["a2", "a3"], "it is free: the others of it are a batch again");
  last().answer.resolve(["a2", "a3"]);
  assert.deepEqual(await Promise.all([...asked, ...more]), ["a1", "b1", "a2", "b2", "a3", "b3"]);
  assert.equal(sent.length, 4);
});

test("the batcher rejects operations that wait for a lock too long, and runs the account's next operation separately", async () => {
  const { batcher, clock, sent, aside, last, lastAside } = open({ locked: new Set(["a"]) });
  const asked = ["a1", "a2"].map((op) => batcher.add(op).catch((error) => error.code));
  await turn();
  last().answer.reject(waited());
  await turn();
  for (let passedMs = 0; passedMs < 4_000; passedMs += 250) {
    assert.equal(aside.length, passedMs / 250 + 1);
    lastAside().answer.reject(waited());
    await turn();
    clock.advance(250);
    await turn();
  }
  lastAside().answer.reject(waited());
  assert.deepEqual(await Promise.all(asked), ["55P03", "55P03"]);
  const next = batcher.add("a3");
  await turn();
  assert.deepEqual([lastAside().ops, sent.length], [["a3"], 1]);
  lastAside().answer.resolve(["a3"]);
  assert.equal(await next, "a3");
  void batcher.add("a4");
  await turn();
  assert.deepEqual(last().ops, ["a4"]);
});

test("the batcher undoes an operation that the database executed after the caller had timed out waiting for a lock", async () => {
  const { batcher, clock, last, lastAside, undone } = open({ waitMaxMs: 2_000, locked: new Set(["a"]) });
  const asked = batcher.add("a1").catch((error) => error.code);
  await turn();
  last().answer.reject(waited());
  await turn();
  clock.advance(2_000);
  assert.equal(await asked, "55P03");
  assert.deepEqual(undone, []);
  lastAside().answer.resolve(["a1"]);
  await turn();
  assert.deepEqual(undone, ["a1"]);
});

test("the batcher runs operations separately from its batches if another transaction has locked their account, for at most two accounts at a time", async () => {
  const { batcher, aside, last } = open({ locked: new Set(["a", "b", "c"]) });
  const asked = ["a1", "b1", "c1"].map((op) => batcher.add(op));
  await turn();
  last().answer.reject(waited());
  await turn();
  assert.deepEqual(
    aside.map(({ ops }) => ops),
    [["a1"], ["b1"]],
  );
  for (let i = 0; i < 3; i++) {
    aside[i]?.answer.resolve(aside[i]?.ops ?? []);
    await turn();
  }
  assert.deepEqual(await Promise.all(asked), ["a1", "b1", "c1"]);
});

test("the batcher reports batch sizes, waiting times and batch durations", async () => {
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
