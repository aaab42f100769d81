import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeFrame } from "@tollgate/protocol/frame-codec.ts";
import { splitJob } from "@tollgate/protocol/job-splitting.ts";
import { gatewaySubject, nodeSubject, STATE_REQUEST_SUBJECT } from "@tollgate/protocol/nats-subjects.ts";
import { waitOneTurn } from "../clock.ts";
import { EngineError } from "../engines/engine.ts";
import { SCHEMA_KEYWORDS } from "../engines/schema-keywords.ts";
import { scriptedEngine } from "../engines/scripted-engine.ts";
import { AgentHarness, TEST_NODE_ID } from "../testing/agent-harness.ts";
import { ManualClock } from "../testing/manual-clock.ts";

test("a node reports its models and slots when it connects", async () => {
  const harness = new AgentHarness();
  await harness.online();
  assert.deepEqual(harness.states(), [
    {
      protocol: "1.4",
      agent: "tollgate-host/test",
      slots: 2,
      busy: 0,
      models: ["tiny-3b", "embed-m3"],
      json_schema: ["tiny-3b"],
      schema_keywords: [...SCHEMA_KEYWORDS.scripted],
      scores: { "tiny-3b": "text" },
      accepts_early: true,
      draining: false,
    },
  ]);
  assert.deepEqual(harness.plane.connections[0]?.subjects, [nodeSubject(TEST_NODE_ID), STATE_REQUEST_SUBJECT]);
  assert.deepEqual(harness.statuses, [{ type: "online" }]);
  await harness.agent.stop();
});

test("a node accepts a job on its gateway's subject, answers it and reports its end", async () => {
  const harness = new AgentHarness();
  await harness.online();
  const job = harness.script({ reasoning: "hm", text: "one two three" }, { gateway: "gw7" });
  assert.deepEqual(await harness.plane.ending(job), { kind: "done", job, seq: 4, finish: "stop" });
  assert.equal(harness.kinds(job)[0], "accepted");
  assert.equal(harness.text(job), "hmone two three");
  const about = harness.plane.heard.filter(({ frame }) => frame?.kind !== "state");
  assert.deepEqual(new Set(about.map(({ subject }) => subject)), new Set([gatewaySubject("gw7", TEST_NODE_ID)]));
  await harness.agent.stop();
});

test("a node answers in the output format that the job asks for", async () => {
  const harness = new AgentHarness();
  await harness.online();
  const format = { type: "json_schema" as const, name: "x", schema: { type: "object", required: ["a"] } };
  const job = harness.offer({ messages: [{ role: "user", content: "hi" }], format });
  assert.equal((await harness.plane.ending(job)).kind, "done");
  assert.equal(harness.text(job), '{"a":null}');
  await harness.agent.stop();
});

test("a node sends token times with its deltas only to gateways that ask for them", async () => {
  const harness = new AgentHarness();
  await harness.online();
  for (const [header, kind] of [
    [{ times: true }, "timed"],
    [{}, "deltas"],
  ] as const) {
    const job = harness.script({ text: "one" }, header);
    await harness.plane.ending(job);
    assert.deepEqual(harness.kinds(job), ["accepted", kind, "done"]);
  }
  await harness.agent.stop();
});

test("a node returns every embedding of a job as a vector, even 150 of them", async () => {
  const harness = new AgentHarness();
  await harness.online();
  const job = harness.offer({ input: Array.from({ length: 150 }, (_, i) => `text ${i}`) }, { output_tokens_max: 0 });
  assert.equal((await harness.plane.ending(job)).kind, "done");
  const vectors = harness.plane.of(job).flatMap((frame) => (frame.kind === "vectors" ? [frame] : []));
  assert.deepEqual(
    vectors.map(({ first, values }) => [first, values.length / 1024]),
    [
      [0, 64],
      [64, 64],
      [128, 22],
    ],
  );
  await harness.agent.stop();
});

test("a node reassembles a large job from the frames in which it arrives", async () => {
  const harness = new AgentHarness();
  await harness.online();
  const messages = [
    { role: "system", content: "x".repeat(700_000) },
    { role: "user", content: '#script {"text":"ok"}' },
  ];
  const job = harness.offer({ messages });
  await harness.plane.ending(job);
  assert.equal(harness.text(job), "ok");
  await harness.agent.stop();
});

test("a node accepts a job before its body has arrived, and runs it once the body is complete", async () => {
  const harness = new AgentHarness();
  await harness.online();
  const job = "0000000000000000000000000y-01";
  const header = { job, gateway: "gw1", model: "tiny-3b", endpoint: "chat" as const, stream: true };
  const messages = [{ role: "user", content: '#script {"text":"ok"}' }];
  const [offer, body] = splitJob({ ...header, output_tokens_max: 9, sampling: {} }, { messages }, { later: true });
  assert.ok(offer && body);
  harness.plane.send(nodeSubject(TEST_NODE_ID), encodeFrame(offer));
  await harness.plane.until(() => harness.kinds(job).length > 0);
  assert.deepEqual(harness.kinds(job), ["accepted"]);
  assert.equal(harness.agent.snapshot().busy, 1);
  harness.plane.send(nodeSubject(TEST_NODE_ID), encodeFrame(body));
  await harness.plane.ending(job);
  assert.equal(harness.text(job), "ok");
  assert.equal(harness.kinds(job).filter((kind) => kind === "accepted").length, 1);
  await harness.agent.stop();
});

test("a node reports its state when its slots change, when a gateway asks, and every five seconds", async () => {
  const harness = new AgentHarness();
  await harness.online();
  const job = harness.script({ stall_after: 0 });
  await harness.plane.until(() => harness.states().at(-1)?.busy === 1);
  harness.cancel(job);
  await harness.plane.until(() => harness.states().at(-1)?.busy === 0);
  const before = harness.states().length;
  harness.plane.send(STATE_REQUEST_SUBJECT, new Uint8Array(0));
  assert.equal(harness.states().length, before + 1);
  harness.clock.advance(10_000);
  assert.equal(harness.states().length, before + 3);
  await harness.agent.stop();
});

test("a node replies busy when no slot is free, when it does not serve the model, and when the engine refuses", async () => {
  const harness = new AgentHarness({ slots: 1 });
  await harness.online();
  const running = harness.script({ stall_after: 0 });
  await harness.plane.until(() => harness.states().at(-1)?.busy === 1);
  for (const refused of [harness.offer("hi"), harness.offer("hi", { model: "mid-14b" })])
    assert.deepEqual(harness.kinds(refused), ["busy"]);
  harness.cancel(running);
  await harness.plane.until(() => harness.states().at(-1)?.busy === 0);
  assert.deepEqual(harness.kinds(harness.offer("hi", { model: "mid-14b" })), ["busy"]);
  assert.deepEqual(harness.kinds(harness.script({ busy: true })), ["busy"]);
  assert.equal((await harness.plane.ending(harness.offer("hi"))).kind, "done");
  await harness.agent.stop();
});

test("a node sends nothing more for a cancelled job, and frees its slot", async () => {
  const harness = new AgentHarness({ slots: 1 });
  await harness.online();
  const job = harness.script({ text: "a b c", stall_after: 2 });
  await harness.plane.until(() => harness.text(job) === "a b");
  harness.cancel(job);
  await harness.plane.until(() => harness.states().at(-1)?.busy === 0);
  assert.deepEqual(
    harness.kinds(job).filter((kind) => kind !== "deltas"),
    ["accepted"],
  );
  assert.equal((await harness.plane.ending(harness.offer("hi"))).kind, "done");
  await harness.agent.stop();
});

test("a node reports whether the prompt or the engine caused a failure, and hides the text of unexpected errors", async () => {
  const engine = scriptedEngine({ models: ["tiny-3b"], clock: new ManualClock() });
  const failures: unknown[] = [
    new EngineError("engine", "out of memory"),
    new EngineError("prompt", "too long"),
    new SyntaxError('Unexpected token in "the secret prompt"'),
    "not even an error",
  ];
  const harness = new AgentHarness({
    models: ["tiny-3b"],
    engine: { ...engine, generate: () => Promise.reject(failures.shift()) },
  });
  await harness.online();
  const causes: unknown[] = [];
  for (let i = 0; i < 4; i++) {
    const ending = await harness.plane.ending(harness.offer("the secret prompt"));
    assert.ok(ending.kind === "failed" && ending.seq === 0);
    causes.push([ending.cause, ending.message]);
  }
  const unexpected = ["agent", "internal error in the agent; its log has the details"];
  assert.deepEqual(causes, [["engine", "out of memory"], ["prompt", "too long"], unexpected, unexpected]);
  assert.match(harness.logged, /SyntaxError/);
  assert.doesNotMatch(harness.logged, /secret/);
  await harness.agent.stop();
});

test("a node logs no text of prompts or answers at any log level", async () => {
  const harness = new AgentHarness();
  await harness.online();
  for (const job of [
    harness.script({ text: "answerword", fail_after: 1 }),
    harness.offer("#script {promptword"),
    harness.offer("promptword"),
  ]) {
    await harness.plane.ending(job);
  }
  assert.ok(harness.logged.length > 0);
  assert.doesNotMatch(harness.logged, /answerword|promptword|#script/);
  await harness.agent.stop();
});

test("a node reports an engine failure when the engine returns too few vectors", async () => {
  const engine = scriptedEngine({ models: ["embed-m3"], clock: new ManualClock() });
  const harness = new AgentHarness({
    models: ["embed-m3"],
    engine: {
      ...engine,
      async *embed() {
        yield Float32Array.of(1);
      },
    },
  });
  await harness.online();
  assert.equal((await harness.plane.ending(harness.offer({ input: ["a", "b"] }))).kind, "failed");
  await harness.agent.stop();
});

test("a node fails a job when one of its pieces is missing after ten seconds", async () => {
  const harness = new AgentHarness({ slots: 1 });
  await harness.online();
  const job = "0000000000000000000000000z-01";
  const header = {
    job,
    gateway: "gw1",
    model: "tiny-3b",
    endpoint: "completion" as const,
    stream: true,
    output_tokens_max: 1,
    sampling: {},
  };
  const [first, second, third] = splitJob(header, { prompt: "x".repeat(600_000) });
  assert.ok(first && second && third);
  harness.plane.send(nodeSubject(TEST_NODE_ID), encodeFrame(first));
  await harness.plane.until(() => harness.kinds(job).length > 0);
  assert.deepEqual(harness.kinds(job), ["accepted"]);
  assert.deepEqual(harness.kinds(harness.offer("hi")), ["busy"], "its slot is taken");
  harness.clock.advance(10_000);
  assert.deepEqual(harness.kinds(job), ["accepted", "failed"]);
  harness.plane.send(nodeSubject(TEST_NODE_ID), encodeFrame(second));
  assert.deepEqual(harness.kinds(job), ["accepted", "failed"], "late pieces mean nothing");

  const again = job.replace("z-01", "z-02");
  const [start, , end] = splitJob({ ...header, job: again }, { prompt: "x".repeat(600_000) });
  assert.ok(start && end);
  harness.plane.send(nodeSubject(TEST_NODE_ID), encodeFrame(start));
  harness.plane.send(nodeSubject(TEST_NODE_ID), encodeFrame(end));
  await harness.plane.until(() => harness.kinds(again).length > 1);
  assert.deepEqual(harness.kinds(again), ["accepted", "failed"], "a lost piece is noticed at once");
  assert.equal((await harness.plane.ending(harness.offer("hi"))).kind, "done");
  await harness.agent.stop();
});

test("a node ignores malformed frames, unknown frame kinds and cancellations of unknown jobs", async () => {
  const harness = new AgentHarness();
  await harness.online();
  for (const bytes of [[], [1], [9, 9], [1, 200], [1, 1, 0xff, 0xff], [1, 3, 0x7b]])
    harness.plane.send(nodeSubject(TEST_NODE_ID), Uint8Array.from(bytes));
  harness.cancel("0000000000000000000000000q-01");
  const unreadable = harness.offer({ prompt: "x" }, { endpoint: "chat" });
  assert.deepEqual(harness.kinds(unreadable), ["busy"]);
  assert.equal((await harness.plane.ending(harness.offer("hi"))).kind, "done");
  await harness.agent.stop();
});

test("a node runs a job once when it is delivered twice", async () => {
  const harness = new AgentHarness();
  await harness.online();
  const job = harness.script({ text: "a" });
  harness.script({ text: "a" }, { job });
  await harness.plane.ending(job);
  harness.script({ text: "a" }, { job });
  await waitOneTurn(harness.clock);
  assert.deepEqual(harness.kinds(job), ["accepted", "deltas", "done"]);
  await harness.agent.stop();
});

test("a draining node finishes its jobs, refuses new ones, and then disconnects", async () => {
  const harness = new AgentHarness();
  await harness.online();
  const job = harness.script({ text: "a b", ttft_ms: 5_000 });
  const left = harness.agent.drain(30_000, new AbortController().signal);
  await harness.plane.until(() => harness.states().at(-1)?.draining === true);
  assert.deepEqual(harness.kinds(harness.offer("hi")), ["busy"]);
  harness.clock.advance(5_000);
  await left;
  assert.deepEqual(harness.kinds(job), ["accepted", "deltas", "done"]);
  assert.deepEqual(harness.plane.open, []);
  assert.deepEqual(harness.statuses, [{ type: "online" }]);
});

test("draining ends at its time limit or at a second stop request, without messages about unfinished jobs", async () => {
  for (const end of ["limit", "hurry"]) {
    const harness = new AgentHarness();
    await harness.online();
    const job = harness.script({ stall_after: 0 });
    const hurry = new AbortController();
    const left = harness.agent.drain(30_000, hurry.signal);
    if (end === "limit") harness.clock.advance(30_000);
    else hurry.abort();
    await left;
    assert.deepEqual(harness.kinds(job), ["accepted"]);
    assert.deepEqual(harness.plane.open, []);
  }
});
