/** What a node says of itself decides nothing: its work is what the gateways gave it, its slots what its record allows. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { type ManualClock, manualClock, turn } from "../base/testing.ts";
import { type Dispatcher, openDispatcher } from "./dispatcher.ts";
import { openPeers, type Peers } from "./exchange/peers.ts";
import type { NodeLicence } from "./licences.ts";
import type { DispatchOrder } from "./order.ts";
import { Roster } from "./roster.ts";
import { FakeNode, MemoryPlane, TextSink } from "./testing.ts";

const MODEL = "tiny-3b";
const log = createLog("silent");

describe("the gateways' own evidence", () => {
  let clock: ManualClock;
  let plane: MemoryPlane;
  let licences: Record<string, Partial<NodeLicence>>;
  let refused: string[];
  let requests: number;

  beforeEach(() => {
    [clock, plane, licences, refused, requests] = [manualClock(), new MemoryPlane(), {}, [], 0];
  });

  const open = (gatewayId: string) => {
    const licence = async (id: string) => ({
      nodeId: id as Uuid,
      hostAccountId: `host-of-${id}` as Uuid,
      models: [MODEL],
      ...licences[id],
    });
    const roster = new Roster({ plane, clock, random: systemRandom(), log, licence });
    const peers: Peers = openPeers({ plane, roster, gatewayId, clock, log });
    const dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId, deadlineMs: 10_000, peers });
    dispatcher.onRefused?.((nodeId: string, how: string) => refused.push(`${nodeId} ${how}`));
    return { roster, peers, dispatcher };
  };
  const online = async (id: string, told: Partial<Parameters<FakeNode["report"]>[0]> = {}, gatewayId = "gw1") => {
    const node = new FakeNode(plane, { id, gatewayId });
    node.report({ models: [MODEL], slots: 1, ...told });
    await turn();
    return node;
  };
  const ask = (dispatcher: Dispatcher, sink = new TextSink(), gone = new AbortController().signal) => {
    const order: DispatchOrder = {
      request: String(requests++).padStart(26, "0"),
      header: { model: MODEL, endpoint: "chat", stream: true, output_tokens_max: 9, sampling: {} },
      body: { messages: [{ role: "user", content: "a secret prompt" }] },
    };
    return dispatcher.run(order, sink, gone);
  };
  const jobs = (node: FakeNode): number => node.heard.filter(({ kind }) => kind === "job").length;
  const answer = (node: FakeNode, job: string): void => {
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "whole");
    node.say({ kind: "done", job, seq: 1, finish: "stop" });
  };

  test("a node that reports itself busy, or free, is chosen as if it had said nothing", async () => {
    const { roster, dispatcher } = open("gw1");
    const full = await online("full", { slots: 2, busy: 4096 });
    const running = ask(dispatcher);
    const job = await full.job();
    full.report({ models: [MODEL], slots: 2, busy: 0 });
    clock.advance(1_000);
    await turn();
    assert.equal(roster.find("full")?.outstanding, 1, "what it runs is what it was given");
    answer(full, job);
    assert.equal((await running).end, "finished");
    assert.equal(roster.find("full")?.outstanding, 0);
  });

  test("a gateway counts what another gave the node, and forgets it when that one leaves", async () => {
    const [one, two] = [open("gw1"), open("gw2")];
    const node = await online("n", { slots: 1 });
    const running = ask(one.dispatcher);
    const job = await node.job();
    node.say({ kind: "accepted", job });
    clock.advance(250);
    await turn();
    assert.equal(two.roster.find("n")?.outstanding, 1);
    const waiting = ask(two.dispatcher);
    await turn();
    assert.equal(jobs(node), 1, "the other gateway waits for the slot");
    node.delta(job, 0, "x");
    node.say({ kind: "done", job, seq: 1, finish: "stop" });
    assert.equal((await running).end, "finished");
    clock.advance(250);
    await turn();
    assert.equal(jobs(node), 2, "and gets it once it hears that it is free");
    one.peers.close();
    assert.equal(two.roster.find("n")?.outstanding, 1, "its own is left");
    clock.advance(10_000);
    await waiting;
  });

  test("what a gateway that died gave a node is forgotten after ten seconds", async () => {
    const [one, two] = [open("gw1"), open("gw2")];
    const node = await online("n", { slots: 1 });
    void ask(one.dispatcher);
    node.say({ kind: "accepted", job: await node.job() });
    clock.advance(250);
    await turn();
    assert.equal(two.roster.find("n")?.outstanding, 1);
    two.roster.told("gw1", {}, { whole: true });
    assert.equal(two.roster.find("n")?.outstanding, 0);
    two.roster.told("gw1", { n: 1 }, { whole: false });
    plane.silence("gw1");
    for (let second = 0; second < 13; second++) {
      clock.advance(1_000);
      node.report({ models: [MODEL], slots: 1 });
      await turn();
    }
    assert.equal(two.roster.find("n")?.outstanding, 0);
  });

  test("slots grow with the node's record; what it reports is an upper bound", async () => {
    const { roster, dispatcher } = open("gw1");
    licences = { young: { slotsMax: 4 }, old: {} };
    await online("young", { slots: 4096 });
    await online("old", { slots: 2 });
    assert.equal(roster.find("young")?.slots, 4);
    assert.equal(roster.find("old")?.slots, 2);
    assert.equal(dispatcher.slots(MODEL), 6, "the admission ceiling counts on no more");
  });
});
