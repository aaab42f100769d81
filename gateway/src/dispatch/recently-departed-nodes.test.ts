/** Nodes that disconnected a short time ago count as capacity, because most of them return. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { waitOneTurn } from "../base/testing.ts";
import { TextSink } from "./testing.ts";
import { answerJob, type DispatchRig, MODEL, openDispatchRig, reportState } from "./testing-dispatcher.ts";

describe("nodes that disconnected a short time ago", () => {
  let rig: DispatchRig;
  beforeEach(() => {
    rig = openDispatchRig();
  });

  test("count as capacity for one more minute, whether the node or the whole plane was lost", async () => {
    const [a] = [await rig.online("a", { slots: 20 }), await rig.online("b", { slots: 30 })];
    rig.plane.drop("a");
    assert.equal(rig.dispatcher.slots(MODEL), 50);
    assert.deepEqual(rig.roster.capacity(MODEL), { nodes: 1, slots: 30, busy: 0 }, "and for nothing else");
    rig.plane.goAway();
    assert.equal(rig.dispatcher.slots(MODEL), 50);
    assert.deepEqual(rig.roster.nodes(), []);
    rig.clock.advance(59_999);
    assert.equal(rig.dispatcher.slots(MODEL), 50);
    rig.clock.advance(1);
    assert.equal(rig.dispatcher.slots(MODEL), 0);
    rig.plane.comeBack();
    await reportState(a);
    assert.equal(rig.dispatcher.slots(MODEL), 1);
  });

  test("do not count as capacity if they were draining", async () => {
    const a = await rig.online("a", { slots: 20 });
    a.report({ models: [MODEL], slots: 20, draining: true });
    await waitOneTurn();
    rig.plane.drop("a");
    assert.equal(rig.dispatcher.slots(MODEL), 0);
  });

  test("make requests wait up to two seconds after the plane recovers, until one of these nodes reports again", async () => {
    const node = await rig.online("a");
    rig.plane.goAway();
    rig.plane.comeBack();
    const lucky = rig.run(new TextSink());
    await waitOneTurn();
    await reportState(node);
    answerJob(node, await node.job());
    assert.equal((await lucky).end, "finished");

    rig.plane.goAway();
    rig.plane.comeBack();
    const unlucky = rig.run(new TextSink());
    rig.clock.advance(1_999);
    await waitOneTurn();
    let ended = false;
    unlucky.finally(() => {
      ended = true;
    });
    await waitOneTurn();
    assert.equal(ended, false);
    rig.clock.advance(1);
    assert.equal((await unlucky).end, "no_capacity");
  });

  test("are not reported as gone during a 30 s outage of the plane, and are reported as gone after a minute", async () => {
    const gone: string[] = [];
    rig.roster.onGone((id, by) => gone.push(`${id} ${by}`));
    const node = await rig.online("a");
    rig.plane.goAway();
    rig.clock.advance(30_000);
    rig.plane.comeBack();
    await reportState(node);
    assert.deepEqual(gone, []);
    rig.plane.goAway();
    rig.clock.advance(65_000);
    assert.deepEqual(gone, ["a plane"]);
  });
});
