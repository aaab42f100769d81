/** Frames that break the protocol fail the job that they belong to, nothing else, and their text is not logged. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { encodeFrame } from "@tollgate/protocol/frame-codec.ts";
import { createLog } from "../base/log.ts";
import type { DispatchResult } from "./dispatch-result.ts";
import { TextSink } from "./testing.ts";
import { DISPATCH_REQUEST, type DispatchRig, NEVER_ABORTED, openDispatchRig } from "./testing-dispatcher.ts";

describe("malformed or foreign frames", () => {
  let logged: string;
  let rig: DispatchRig;
  beforeEach(() => {
    logged = "";
    const log = createLog("trace", {
      write(line) {
        logged += line;
      },
    });
    rig = openDispatchRig({ log });
  });

  test("fails the job, but not the gateway, when frames are missing, malformed or out of order", async () => {
    const node = await rig.online("a", { slots: 4 });
    const breaks = [
      (job: string) => node.delta(job, 1, "gap"),
      () => node.raw(Buffer.from([1, 19, 255])),
      (job: string) => node.say({ kind: "vectors", job, seq: 0, first: 0, width: 1, values: Float32Array.of(1) }),
      (job: string) => node.say({ kind: "accepted", job }),
    ];
    for (const [nth, break_] of breaks.entries()) {
      const offered = node.job(nth + 1);
      const running = rig.run(new TextSink());
      const job = await offered;
      node.say({ kind: "accepted", job });
      break_(job);
      assert.equal((await running).end, "broken");
    }
    const owing = new TextSink();
    owing.finished = () => "broken";
    const offered = node.job(breaks.length + 1);
    const running = rig.run(owing);
    const job = await offered;
    node.say({ kind: "accepted", job });
    node.say({ kind: "done", job, seq: 0, finish: "stop" });
    assert.equal((await running).end, "broken", "done without what it owes");
  });

  test("fails only the job named in a malformed frame", async () => {
    const node = await rig.online("a", { slots: 4 });
    const sinks = [new TextSink(), new TextSink()] as const;
    const running: Promise<DispatchResult>[] = [];
    const jobs: string[] = [];
    for (const [nth, sink] of sinks.entries()) {
      const offered = node.job(nth + 1);
      const request = String(nth).padStart(26, "0");
      running.push(rig.dispatcher.run({ ...DISPATCH_REQUEST, request }, sink, NEVER_ABORTED));
      jobs.push(await offered);
      node.say({ kind: "accepted", job: jobs[nth] as string });
    }
    const [broken, other] = jobs as [string, string];
    const whole = encodeFrame({ kind: "deltas", deltas: [{ job: broken, seq: 0, channel: "answer", text: "x" }] });
    // The malformed frame names no job. If it was output, the next frame of its job shows the gap.
    node.raw(Buffer.from([1, 19, 255]));
    node.raw(whole.subarray(0, -1));
    node.delta(other, 0, "well");
    node.say({ kind: "done", job: other, seq: 1, finish: "stop" });
    const ends = (await Promise.all(running)).map(({ end }) => end);
    assert.deepEqual([ends, sinks[1].text], [["broken", "finished"], "well"]);
  });

  test("does not log a node's failure message or malformed data", async () => {
    const node = await rig.online("a", { slots: 4 });
    const says = [
      (job: string) => node.say({ kind: "failed", job, seq: 0, cause: "engine", message: "MARKER of a prompt" }),
      () => node.raw(Buffer.concat([Buffer.from([1, 22]), Buffer.from('{"job":"MARKER","seq":"MARKER"}')])),
      () => node.raw(Buffer.concat([Buffer.from([1, 21]), Buffer.from("MARKER, not JSON")])),
    ];
    for (const [nth, say] of says.entries()) {
      const offered = node.job(nth + 1);
      const running = rig.run(new TextSink());
      const job = await offered;
      node.say({ kind: "accepted", job });
      say(job);
      await running;
    }
    assert.match(logged, /"cause":"engine"/);
    assert.match(logged, /malformed frame/);
    assert.doesNotMatch(logged, /MARKER/);
  });

  test("ignores frames that another node sends for a job", async () => {
    const node = await rig.online("a");
    const sink = new TextSink();
    const offered = node.job();
    const running = rig.run(sink);
    const job = await offered;
    const thief = await rig.online("b");
    node.say({ kind: "accepted", job });
    thief.delta(job, 0, "evil");
    thief.say({ kind: "done", job, seq: 1, finish: "stop" });
    node.delta(job, 0, "good");
    node.say({ kind: "done", job, seq: 1, finish: "stop" });
    await running;
    assert.equal(sink.text, "good");
  });
});
