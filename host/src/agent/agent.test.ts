import assert from "node:assert/strict";
import { test } from "node:test";
import { encode } from "@tollgate/protocol/codec.ts";
import { cutJob } from "@tollgate/protocol/jobs.ts";
import { STATE_REQUEST, toGateway, toNode } from "@tollgate/protocol/subjects.ts";
import { turn } from "../clock.ts";
import { EngineError } from "../engines/engine.ts";
import { scriptedEngine } from "../engines/scripted.ts";
import { AgentBench, NODE } from "../testing/bench.ts";
import { ManualClock } from "../testing/manual-clock.ts";

test("a node that comes online says what it is", async () => {
  const bench = new AgentBench();
  await bench.online();
  assert.deepEqual(bench.states(), [
    {
      protocol: "1.1",
      agent: "tollgate-host/test",
      slots: 2,
      busy: 0,
      models: ["tiny-3b", "embed-m3"],
      draining: false,
    },
  ]);
  assert.deepEqual(bench.plane.connections[0]?.subjects, [toNode(NODE), STATE_REQUEST]);
  assert.deepEqual(bench.statuses, [{ type: "online" }]);
  await bench.agent.stop();
});

test("a job is accepted, answered and done, on the subject of its gateway", async () => {
  const bench = new AgentBench();
  await bench.online();
  const job = bench.script({ reasoning: "hm", text: "one two three" }, { gateway: "gw7" });
  assert.deepEqual(await bench.plane.ending(job), { kind: "done", job, seq: 4, finish: "stop" });
  assert.equal(bench.kinds(job)[0], "accepted");
  assert.equal(bench.text(job), "hmone two three");
  const about = bench.plane.heard.filter(({ frame }) => frame?.kind !== "state");
  assert.deepEqual(new Set(about.map(({ subject }) => subject)), new Set([toGateway("gw7", NODE)]));
  await bench.agent.stop();
});

test("a gateway that asks for times gets timed deltas, one that does not gets plain ones", async () => {
  const bench = new AgentBench();
  await bench.online();
  for (const [header, kind] of [
    [{ times: true }, "timed"],
    [{}, "deltas"],
  ] as const) {
    const job = bench.script({ text: "one" }, header);
    await bench.plane.ending(job);
    assert.deepEqual(bench.kinds(job), ["accepted", kind, "done"]);
  }
  await bench.agent.stop();
});

test("embeddings come as vectors, also many of them", async () => {
  const bench = new AgentBench();
  await bench.online();
  const job = bench.offer({ input: Array.from({ length: 150 }, (_, i) => `text ${i}`) }, { output_tokens_max: 0 });
  assert.equal((await bench.plane.ending(job)).kind, "done");
  const vectors = bench.plane.of(job).flatMap((frame) => (frame.kind === "vectors" ? [frame] : []));
  assert.deepEqual(
    vectors.map(({ first, values }) => [first, values.length / 1024]),
    [
      [0, 64],
      [64, 64],
      [128, 22],
    ],
  );
  await bench.agent.stop();
});

test("a large job is joined from its pieces", async () => {
  const bench = new AgentBench();
  await bench.online();
  const messages = [
    { role: "system", content: "x".repeat(700_000) },
    { role: "user", content: '#script {"text":"ok"}' },
  ];
  const job = bench.offer({ messages });
  await bench.plane.ending(job);
  assert.equal(bench.text(job), "ok");
  await bench.agent.stop();
});

test("state is told at every change of slots, when asked, and every five seconds", async () => {
  const bench = new AgentBench();
  await bench.online();
  const job = bench.script({ stall_after: 0 });
  await bench.plane.until(() => bench.states().at(-1)?.busy === 1);
  bench.cancel(job);
  await bench.plane.until(() => bench.states().at(-1)?.busy === 0);
  const before = bench.states().length;
  bench.plane.send(STATE_REQUEST, new Uint8Array(0));
  assert.equal(bench.states().length, before + 1);
  bench.clock.advance(10_000);
  assert.equal(bench.states().length, before + 3);
  await bench.agent.stop();
});

test("busy: no free slot, a model that is not served, an engine that refuses", async () => {
  const bench = new AgentBench({ slots: 1 });
  await bench.online();
  const running = bench.script({ stall_after: 0 });
  await bench.plane.until(() => bench.states().at(-1)?.busy === 1);
  for (const refused of [bench.offer("hi"), bench.offer("hi", { model: "mid-14b" })])
    assert.deepEqual(bench.kinds(refused), ["busy"]);
  bench.cancel(running);
  await bench.plane.until(() => bench.states().at(-1)?.busy === 0);
  assert.deepEqual(bench.kinds(bench.offer("hi", { model: "mid-14b" })), ["busy"]);
  assert.deepEqual(bench.kinds(bench.script({ busy: true })), ["busy"]);
  assert.equal((await bench.plane.ending(bench.offer("hi"))).kind, "done");
  await bench.agent.stop();
});

test("a cancelled job says nothing more, and its slot is free", async () => {
  const bench = new AgentBench({ slots: 1 });
  await bench.online();
  const job = bench.script({ text: "a b c", stall_after: 2 });
  await bench.plane.until(() => bench.text(job) === "a b");
  bench.cancel(job);
  await bench.plane.until(() => bench.states().at(-1)?.busy === 0);
  assert.deepEqual(
    bench.kinds(job).filter((kind) => kind !== "deltas"),
    ["accepted"],
  );
  assert.equal((await bench.plane.ending(bench.offer("hi"))).kind, "done");
  await bench.agent.stop();
});

test("a failure says whose fault it is; an unexpected one says nothing of what it saw", async () => {
  const engine = scriptedEngine({ models: ["tiny-3b"], clock: new ManualClock() });
  const failures: unknown[] = [
    new EngineError("engine", "out of memory"),
    new EngineError("prompt", "too long"),
    new SyntaxError('Unexpected token in "the secret prompt"'),
    "not even an error",
  ];
  const bench = new AgentBench({
    models: ["tiny-3b"],
    engine: { ...engine, generate: () => Promise.reject(failures.shift()) },
  });
  await bench.online();
  const causes: unknown[] = [];
  for (let i = 0; i < 4; i++) {
    const ending = await bench.plane.ending(bench.offer("the secret prompt"));
    assert.ok(ending.kind === "failed" && ending.seq === 0);
    causes.push([ending.cause, ending.message]);
  }
  const unexpected = ["agent", "the agent failed unexpectedly; its log says where"];
  assert.deepEqual(causes, [["engine", "out of memory"], ["prompt", "too long"], unexpected, unexpected]);
  assert.match(bench.logged, /SyntaxError/);
  assert.doesNotMatch(bench.logged, /secret/);
  await bench.agent.stop();
});

test("nothing of prompts or answers is logged, at any level", async () => {
  const bench = new AgentBench();
  await bench.online();
  for (const job of [
    bench.script({ text: "answerword", fail_after: 1 }),
    bench.offer("#script {promptword"),
    bench.offer("promptword"),
  ]) {
    await bench.plane.ending(job);
  }
  assert.ok(bench.logged.length > 0);
  assert.doesNotMatch(bench.logged, /answerword|promptword|#script/);
  await bench.agent.stop();
});

test("an engine that gives too few vectors fails", async () => {
  const engine = scriptedEngine({ models: ["embed-m3"], clock: new ManualClock() });
  const bench = new AgentBench({
    models: ["embed-m3"],
    engine: {
      ...engine,
      async *embed() {
        yield Float32Array.of(1);
      },
    },
  });
  await bench.online();
  assert.equal((await bench.plane.ending(bench.offer({ input: ["a", "b"] }))).kind, "failed");
  await bench.agent.stop();
});

test("pieces that do not all come are given up after ten seconds, and the gateway may ask another node", async () => {
  const bench = new AgentBench({ slots: 1 });
  await bench.online();
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
  const [first, second, third] = cutJob(header, { prompt: "x".repeat(600_000) });
  assert.ok(first && second && third);
  bench.plane.send(toNode(NODE), encode(first));
  assert.deepEqual(bench.kinds(bench.offer("hi")), ["busy"], "its slot is taken");
  bench.clock.advance(10_000);
  assert.deepEqual(bench.kinds(job), ["busy"]);
  bench.plane.send(toNode(NODE), encode(second));
  assert.deepEqual(bench.kinds(job), ["busy"], "late pieces mean nothing");

  bench.plane.send(toNode(NODE), encode(first));
  bench.plane.send(toNode(NODE), encode(third));
  assert.deepEqual(bench.kinds(job), ["busy", "busy"], "a lost piece is noticed at once");
  assert.equal((await bench.plane.ending(bench.offer("hi"))).kind, "done");
  await bench.agent.stop();
});

test("malformed, unknown and misplaced frames are passed over", async () => {
  const bench = new AgentBench();
  await bench.online();
  for (const bytes of [[], [1], [9, 9], [1, 200], [1, 1, 0xff, 0xff], [1, 3, 0x7b]])
    bench.plane.send(toNode(NODE), Uint8Array.from(bytes));
  bench.cancel("0000000000000000000000000q-01");
  const unreadable = bench.offer({ prompt: "x" }, { endpoint: "chat" });
  assert.deepEqual(bench.kinds(unreadable), ["busy"]);
  assert.equal((await bench.plane.ending(bench.offer("hi"))).kind, "done");
  await bench.agent.stop();
});

test("a job delivered twice runs once", async () => {
  const bench = new AgentBench();
  await bench.online();
  const job = bench.script({ text: "a" });
  bench.script({ text: "a" }, { job });
  await bench.plane.ending(job);
  bench.script({ text: "a" }, { job });
  await turn(bench.clock);
  assert.deepEqual(bench.kinds(job), ["accepted", "deltas", "done"]);
  await bench.agent.stop();
});

test("draining: what runs finishes, what is new is refused, then the node leaves", async () => {
  const bench = new AgentBench();
  await bench.online();
  const job = bench.script({ text: "a b", ttft_ms: 5_000 });
  const left = bench.agent.drain(30_000, new AbortController().signal);
  await bench.plane.until(() => bench.states().at(-1)?.draining === true);
  assert.deepEqual(bench.kinds(bench.offer("hi")), ["busy"]);
  bench.clock.advance(5_000);
  await left;
  assert.deepEqual(bench.kinds(job), ["accepted", "deltas", "done"]);
  assert.deepEqual(bench.plane.open, []);
  assert.deepEqual(bench.statuses, [{ type: "online" }]);
});

test("draining ends at its limit, or at once when told to hurry; what still ran falls silent", async () => {
  for (const end of ["limit", "hurry"]) {
    const bench = new AgentBench();
    await bench.online();
    const job = bench.script({ stall_after: 0 });
    const hurry = new AbortController();
    const left = bench.agent.drain(30_000, hurry.signal);
    if (end === "limit") bench.clock.advance(30_000);
    else hurry.abort();
    await left;
    assert.deepEqual(bench.kinds(job), ["accepted"]);
    assert.deepEqual(bench.plane.open, []);
  }
});
