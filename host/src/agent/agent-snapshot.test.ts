import assert from "node:assert/strict";
import { test } from "node:test";
import { waitOneTurn } from "../clock.ts";
import { AgentHarness } from "../testing/agent-harness.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { JobCounters } from "./job-counters.ts";

test("the agent's snapshot shows running jobs, counts of ended jobs and the connection state", async () => {
  const harness = new AgentHarness();
  assert.equal(harness.agent.snapshot().state, "connecting");
  await harness.online();
  assert.deepEqual(harness.agent.snapshot(), {
    state: "online",
    slots: 2,
    slotsMax: 2,
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

  const job = harness.script({ text: "one two three four", stall_after: 2 });
  await harness.plane.until(() => harness.text(job) === "one two");
  harness.clock.advance(1500);
  const running = harness.agent.snapshot();
  assert.equal(running.busy, 1);
  assert.deepEqual(running.running, [
    { job, model: "tiny-3b", endpoint: "chat", seconds: 1.5, outputChars: 7, vectors: 0, promptRead: undefined },
  ]);
  harness.cancel(job);
  await harness.plane.ending(harness.script({ text: "a", fail_after: 1 }));
  await harness.plane.ending(harness.offer({ input: ["a", "b"] }));
  await harness.plane.ending(harness.offer("hi", { model: "mid-14b" }));
  await harness.plane.until(() => harness.states().at(-1)?.busy === 0);
  const { jobsDone, jobsFailed, jobsCancelled, jobsRefused } = harness.agent.snapshot();
  assert.deepEqual([jobsDone, jobsFailed, jobsCancelled, jobsRefused], [1, 1, 1, 1]);

  harness.plane.connections[0]?.lose(new Error("network"));
  while (harness.statuses.at(-1)?.type !== "offline") await waitOneTurn(harness.clock);
  assert.equal(harness.agent.snapshot().state, "connecting");
  await harness.agent.stop();
  assert.equal(harness.agent.snapshot().state, "stopped");
});

test("the agent's snapshot contains no text of prompts or answers", async () => {
  const harness = new AgentHarness();
  await harness.online();
  const job = harness.script({ text: "answerword more", reasoning: "thoughtword", stall_after: 2 });
  await harness.plane.until(() => harness.text(job) !== "");
  assert.doesNotMatch(JSON.stringify(harness.agent.snapshot()), /answerword|thoughtword|#script/);
  await harness.agent.stop();
});

test("the agent's snapshot notifies its listeners of jobs and connection changes, but not of each token", async () => {
  const harness = new AgentHarness();
  let heard = 0;
  const leave = harness.agent.onActivity(() => heard++);
  await harness.online();
  assert.equal(heard, 1);
  const job = harness.script({ tokens: 500 });
  await harness.plane.ending(job);
  await harness.plane.until(() => harness.states().at(-1)?.busy === 0);
  assert.ok(heard >= 2 && heard < 10, `heard ${heard} times`);
  leave();
  const before = heard;
  await harness.agent.stop();
  assert.equal(heard, before);
});

test("the agent's snapshot shows that the node is draining", async () => {
  const harness = new AgentHarness();
  await harness.online();
  harness.script({ stall_after: 0 });
  const left = harness.agent.drain(1000, new AbortController().signal);
  assert.equal(harness.agent.snapshot().state, "draining");
  harness.clock.advance(1000);
  await left;
  assert.equal(harness.agent.snapshot().state, "stopped");
});

test("the token rate in the agent's snapshot covers the last ten seconds", () => {
  const clock = new ManualClock();
  const tally = new JobCounters(clock);
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
  // The window has ten seconds: nine whole seconds with output, and the present one, which has just begun.
  assert.equal(tally.tokensPerSecond, 90);
  clock.advance(4000);
  assert.equal(tally.tokensPerSecond, 50);
  clock.advance(60_000);
  assert.equal(tally.tokensPerSecond, 0);
});
