import assert from "node:assert/strict";
import { test } from "node:test";
import { turn } from "../clock.ts";
import { AgentBench } from "../testing/bench.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { Tally } from "./tally.ts";

test("what runs, what ended and how, and where the line is", async () => {
  const bench = new AgentBench();
  assert.equal(bench.agent.snapshot().state, "connecting");
  await bench.online();
  assert.deepEqual(bench.agent.snapshot(), {
    state: "online",
    slots: 2,
    busy: 0,
    models: ["tiny-3b", "embed-m3"],
    elected: ["tiny-3b", "embed-m3"],
    jobsDone: 0,
    jobsFailed: 0,
    jobsCancelled: 0,
    jobsRefused: 0,
    tokensPerSecond: 0,
    running: [],
  });

  const job = bench.script({ text: "one two three four", stall_after: 2 });
  await bench.plane.until(() => bench.text(job) === "one two");
  bench.clock.advance(1500);
  const running = bench.agent.snapshot();
  assert.equal(running.busy, 1);
  assert.deepEqual(running.running, [
    { job, model: "tiny-3b", endpoint: "chat", seconds: 1.5, outputChars: 7, vectors: 0, promptRead: undefined },
  ]);
  bench.cancel(job);
  await bench.plane.ending(bench.script({ text: "a", fail_after: 1 }));
  await bench.plane.ending(bench.offer({ input: ["a", "b"] }));
  await bench.plane.ending(bench.offer("hi", { model: "mid-14b" }));
  await bench.plane.until(() => bench.states().at(-1)?.busy === 0);
  const { jobsDone, jobsFailed, jobsCancelled, jobsRefused } = bench.agent.snapshot();
  assert.deepEqual([jobsDone, jobsFailed, jobsCancelled, jobsRefused], [1, 1, 1, 1]);

  bench.plane.connections[0]?.lose(new Error("network"));
  while (bench.statuses.at(-1)?.type !== "offline") await turn(bench.clock);
  assert.equal(bench.agent.snapshot().state, "connecting");
  await bench.agent.stop();
  assert.equal(bench.agent.snapshot().state, "stopped");
});

test("a snapshot holds no text", async () => {
  const bench = new AgentBench();
  await bench.online();
  const job = bench.script({ text: "answerword more", reasoning: "thoughtword", stall_after: 2 });
  await bench.plane.until(() => bench.text(job) !== "");
  assert.doesNotMatch(JSON.stringify(bench.agent.snapshot()), /answerword|thoughtword|#script/);
  await bench.agent.stop();
});

test("listeners hear of jobs and of the line, not of every word, until they leave", async () => {
  const bench = new AgentBench();
  let heard = 0;
  const leave = bench.agent.onActivity(() => heard++);
  await bench.online();
  assert.equal(heard, 1);
  const job = bench.script({ tokens: 500 });
  await bench.plane.ending(job);
  await bench.plane.until(() => bench.states().at(-1)?.busy === 0);
  assert.ok(heard >= 2 && heard < 10, `heard ${heard} times`);
  leave();
  const before = heard;
  await bench.agent.stop();
  assert.equal(heard, before);
});

test("draining shows", async () => {
  const bench = new AgentBench();
  await bench.online();
  bench.script({ stall_after: 0 });
  const left = bench.agent.drain(1000, new AbortController().signal);
  assert.equal(bench.agent.snapshot().state, "draining");
  bench.clock.advance(1000);
  await left;
  assert.equal(bench.agent.snapshot().state, "stopped");
});

test("the rate is over the last ten seconds, and forgets what is older", () => {
  const clock = new ManualClock();
  const tally = new Tally(clock);
  const record = tally.begin({
    job: "0000000000000000000000000a-01",
    gateway: "gw1",
    model: "tiny-3b",
    endpoint: "chat",
    stream: true,
    output_tokens_max: 10,
    sampling: {},
    body_bytes: 2,
    pieces: 1,
  });
  for (let second = 0; second < 30; second++) {
    record.said(400);
    clock.advance(1000);
  }
  // Nine whole seconds and the one that has just begun.
  assert.equal(tally.tokensPerSecond, 90);
  clock.advance(4000);
  assert.equal(tally.tokensPerSecond, 50);
  clock.advance(60_000);
  assert.equal(tally.tokensPerSecond, 0);
});
