/** Tests the network faults of the scripted engine with a complete agent, from a gateway's point of view. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFrame, encodeFrame, FrameError } from "@tollgate/protocol/frame-codec.ts";
import { connectToNats } from "../agent/connect-to-nats.ts";
import { waitOneTurn } from "../clock.ts";
import { AgentHarness } from "../testing/agent-harness.ts";
import { JOB_ID } from "../testing/recording-sink.ts";
import { NATS_USER_SEED, stubNats } from "../testing/stub-nats.ts";
import { FrameFaultInjector, makeMalformedFrames } from "./frame-fault-injector.ts";

/** Waits until the queued output has been sent. */
async function letOut(harness: AgentHarness): Promise<void> {
  for (let i = 0; i < 5; i++) {
    await waitOneTurn(harness.clock);
    harness.clock.advance(5);
  }
}

const malformedIn = (harness: AgentHarness): number =>
  harness.plane.heard.filter(({ frame }) => frame === undefined).length;

test("the decoder refuses every frame that a script sends as malformed", () => {
  assert.ok(makeMalformedFrames(JOB_ID).length > 5);
  for (const bytes of makeMalformedFrames(JOB_ID)) assert.throws(() => decodeFrame(bytes), FrameError);
});

test("the script field claim_tokens adds a token count to the done frame; the field garbage sends malformed frames before the answer", async () => {
  const harness = new AgentHarness();
  await harness.online();
  const job = harness.script({ text: "a", claim_tokens: 123456, garbage: true });
  assert.deepEqual(await harness.plane.ending(job), { kind: "done", job, seq: 1, finish: "stop" });
  const raw = harness.plane.heard.map(({ bytes }) => Buffer.from(bytes).toString("latin1"));
  assert.ok(raw.some((bytes) => bytes.includes('"tokens":123456,"usage":{"completion_tokens":123456}')));
  const said = harness.plane.heard.filter(({ frame }) => frame?.kind !== "state");
  const garbage = makeMalformedFrames(job).map(() => "malformed");
  assert.deepEqual(
    said.map(({ frame }) => frame?.kind ?? "malformed"),
    ["accepted", ...garbage, "deltas", "done"],
  );
  assert.equal(new Set(said.map(({ subject }) => subject)).size, 1);
  await harness.agent.stop();
});

for (const [after, text] of [
  [0, ""],
  [2, "a b"],
] as const) {
  test(`the script field garbage_after: ${after} sends malformed frames after that many words, and no later output`, async () => {
    const harness = new AgentHarness();
    await harness.online();
    const job = harness.script({ text: "a b c", garbage_after: after });
    await letOut(harness);
    assert.equal(harness.text(job), text);
    assert.equal(malformedIn(harness), makeMalformedFrames(job).length);
    assert.equal(harness.plane.heard.findLast(({ frame }) => frame?.kind !== "state")?.frame, undefined);
    harness.cancel(job);
    await harness.agent.stop();
  });

  test(`the script field drop_after: ${after} cuts the connection after that many words, and the agent reconnects`, async () => {
    const harness = new AgentHarness();
    await harness.online();
    const job = harness.script({ text: "a b c", drop_after: after });
    await letOut(harness);
    assert.equal(harness.text(job), text);
    harness.clock.advance(100);
    await harness.plane.until(() => harness.plane.connections.length === 2);
    await letOut(harness);
    assert.deepEqual(
      harness.statuses.map(({ type }) => type),
      ["online", "offline", "online"],
    );
    assert.equal(harness.plane.open.length, 1);
    const next = harness.offer("hi");
    await letOut(harness);
    assert.equal((await harness.plane.ending(next)).kind, "done");
    await harness.agent.stop();
  });
}

test("all output before a scripted fault is sent, even for a client that does not stream", async () => {
  const harness = new AgentHarness();
  await harness.online();
  const job = harness.script({ text: "a b c d", delta_ms: 10, garbage_after: 3 }, { stream: false });
  await letOut(harness);
  assert.deepEqual([harness.text(job), malformedIn(harness)], ["a", 0]);
  harness.clock.advance(200);
  await letOut(harness);
  assert.equal(harness.text(job), "a b c");
  assert.ok(malformedIn(harness) > 5);
  await harness.agent.stop();
});

test("a scripted fault does not affect other jobs, other attempts and later jobs", async () => {
  const harness = new AgentHarness();
  await harness.online();
  const faulty = harness.script({ text: "a b", claim_tokens: 7, garbage_after: 2 });
  const beside = harness.script({ text: "c d" });
  await letOut(harness);
  assert.deepEqual(await harness.plane.ending(beside), { kind: "done", job: beside, seq: 2, finish: "stop" });
  const garbage = malformedIn(harness);
  harness.cancel(faulty);
  await letOut(harness);
  const retry = harness.script({ text: "a", garbage: true, claim_tokens: 7, only_attempt: 2 });
  await letOut(harness);
  assert.equal((await harness.plane.ending(retry)).kind, "done");
  assert.equal(malformedIn(harness), garbage);
  const raw = harness.plane.heard.map(({ bytes }) => Buffer.from(bytes).toString("latin1")).join();
  assert.doesNotMatch(raw, /"tokens"/);
  await harness.agent.stop();
});

test("frames that were published before the injector closes a NATS connection still arrive", async (t) => {
  const nats = await stubNats(t);
  const faults = new FrameFaultInjector();
  const connection = await faults.decorate(connectToNats)(
    { url: nats.url, jwt: "jwt-1", seed: NATS_USER_SEED, expiresAt: 0 },
    "node_x",
  );
  connection.publish("tg.g.gw1.node_x", encodeFrame({ kind: "accepted", job: JOB_ID }));
  faults.begin(JOB_ID);
  connection.publish("tg.s.node_x", encodeFrame({ kind: "busy", job: JOB_ID }));
  faults.drop(JOB_ID, 0);
  await connection.closed;
  assert.equal(nats.published.length, 2);
  faults.drop(JOB_ID, 0);
});
