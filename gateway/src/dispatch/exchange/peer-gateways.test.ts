/**
 * Gateways on one dispatch plane: which ones run, slot counts, and observations about nodes that they send each other.
 */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { nodePermissions } from "@tollgate/protocol/nats-subjects.ts";
import { z } from "zod";
import type { Uuid } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { type ManualClock, manualClock, seededRandom, waitOneTurn } from "../../base/testing.ts";
import { PEERS_SUBJECT, peerSubject } from "../../plane/gateway-subjects.ts";
import { patternCovers } from "../../plane/subject-patterns.ts";
import { type Dispatcher, openDispatcher } from "../dispatcher.ts";
import { Roster } from "../roster.ts";
import { FakeNode, MemoryPlane } from "../testing.ts";
import { openPeerGateways, type PeerGateways } from "./peer-gateways.ts";
import type { ReportItem } from "./peer-topic.ts";

const MODEL = "tiny-3b";
const log = createLog("silent");
interface TestGateway {
  peers: PeerGateways;
  roster: Roster;
  dispatcher: Dispatcher;
  /** The messages that this gateway received, and a function that sends one to the other gateways. */
  heard: { node: string; at: number; isHeld: boolean }[];
  tell: ReportItem<{ at: number }>;
}

describe("exchange between gateways", () => {
  let clock: ManualClock;
  let plane: MemoryPlane;
  let sent: number;

  beforeEach(() => {
    [clock, plane, sent] = [manualClock(), new MemoryPlane(), 0];
    plane.subscribe(PEERS_SUBJECT, () => {
      sent += 1;
    });
  });

  const open = (gatewayId: string, knows: string[] = []): TestGateway => {
    const nodeRecord = async (id: string) => ({ nodeId: id as Uuid, hostAccountId: "h" as Uuid, models: [MODEL] });
    const roster = new Roster({ plane, clock, random: seededRandom(1), log, nodeRecord });
    const peers = openPeerGateways({ plane, roster, gatewayId, clock, log });
    const dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId, deadlineMs: 10_000, peers });
    const heard: TestGateway["heard"] = [];
    const tell = peers.exchange({
      name: "seen",
      itemsMax: 3,
      parse: (told) => z.object({ at: z.number() }).safeParse(told).data,
      hear: (node, items, { shiftMs, isHeld }) => {
        for (const { at } of items) heard.push({ node, at: at + shiftMs, isHeld });
      },
      held: (node) => (knows.includes(node) ? [{ at: 7 }] : []),
    });
    return { peers, roster, dispatcher, heard, tell };
  };
  const join = async (id: string, slots = 4): Promise<FakeNode> => {
    const node = new FakeNode(plane, { id, gatewayId: "a" });
    node.report({ models: [MODEL], slots });
    await waitOneTurn();
    return node;
  };
  const measured = ({ dispatcher }: TestGateway, nodeId: string, ttftMs: number): void => {
    const pace = { nodeId, ttftMs, spanMs: ttftMs + 1000, outputMs: 1000 };
    const result = { end: "finished", finish: "stop", server: null, attempts: 1, queueMs: 1, ttftMs, pace } as const;
    dispatcher.measured(MODEL, result, { prompt: 3, output: 11 });
  };

  test("counts a starting or closing gateway at once, and stops counting a silent one after ten seconds", () => {
    const a = open("a");
    assert.equal(a.peers.gateways(), 1);
    const b = open("b");
    const c = open("c");
    assert.deepEqual(
      [a, b, c].map(({ peers }) => peers.gateways()),
      [3, 3, 3],
    );
    c.peers.close();
    assert.deepEqual([a.peers.gateways(), b.peers.gateways()], [2, 2]);
    plane.publish(PEERS_SUBJECT, Buffer.from(JSON.stringify({ from: "frozen", at: 1 })));
    assert.equal(a.peers.gateways(), 3);
    clock.advance(10_000);
    assert.equal(a.peers.gateways(), 3);
    clock.advance(1);
    assert.deepEqual([a.peers.gateways(), b.peers.gateways()], [2, 2], "those that speak are still there");
  });

  test("uses the highest slot count of a node that any gateway reported within the last minute", async () => {
    const a = open("a");
    await join("n1", 30);
    const b = open("b");
    assert.equal(b.roster.slots(MODEL), 0, "no node has told it yet");
    assert.equal(b.dispatcher.slots(MODEL), 30);
    for (let i = 0; i < 3; i++) clock.advance(5_000);
    a.roster.close();
    plane.drop("n1");
    clock.advance(55_000);
    assert.equal(b.dispatcher.slots(MODEL), 30);
    clock.advance(10_000);
    assert.deepEqual([a.dispatcher.slots(MODEL), b.dispatcher.slots(MODEL)], [0, 0], "and it is not told in circles");
  });

  test("sends measured speeds to the other gateways, and past measurements to a gateway that starts later", async () => {
    const [a, b] = [open("a"), open("b")];
    const node = await join("n1");
    for (const ms of [10, 20, 30]) measured(a, "n1", ms);
    measured(b, "n1", 100);
    measured(a, "not connected", 5);
    clock.advance(250);
    for (const { dispatcher } of [a, b]) {
      assert.deepEqual(dispatcher.speedOfNode("n1", MODEL), {
        ttftMs: 25,
        ttftMsPerToken: 25 / 3,
        tokensPerSecond: 10,
      });
    }
    assert.equal(b.dispatcher.speedOfNode("not connected", MODEL).ttftMs, null);
    const c = open("c");
    node.report({ models: [MODEL], slots: 4 });
    await waitOneTurn();
    assert.equal(c.dispatcher.speedOfNode("n1", MODEL).ttftMs, null);
    clock.advance(250);
    assert.deepEqual(c.dispatcher.speedOfNode("n1", MODEL), {
      ttftMs: 25,
      ttftMsPerToken: 25 / 3,
      tokensPerSecond: 10,
    });
    assert.equal(a.dispatcher.speedOfNode("n1", MODEL).ttftMs, 25, "who had some takes nothing twice");
  });

  test("combines observations into few messages, and converts their times to the receiver's clock", () => {
    const [a, b] = [open("a"), open("b")];
    const before = sent;
    for (let i = 0; i < 100; i++) a.tell("n1", { at: clock.monotonic() - i });
    clock.advance(250);
    assert.equal(sent - before, 1);
    assert.deepEqual(
      b.heard.map(({ at }) => clock.monotonic() - at),
      [347, 348, 349],
      "the last three of that node matter",
    );
    const strange = { from: "x", at: 1_000, news: { seen: { n2: [{ at: 400, later: "field" }, { broken: true }] } } };
    plane.publish(PEERS_SUBJECT, Buffer.from(JSON.stringify({ ...strange, unheard: { of: 1 } })));
    assert.deepEqual(b.heard.at(-1), { node: "n2", at: clock.monotonic() - 600, isHeld: false });
    assert.equal(b.heard.length, 4);
  });

  test("asks the other gateways for their observations of a node that joins; they answer only the gateway that asked", async () => {
    const [a, b] = [open("a"), open("b", ["n1", "n2"])];
    a.roster.close();
    await join("n1");
    clock.advance(250);
    assert.deepEqual([a.heard, b.heard], [[], []], "n1 joined b alone, which knows it");
    const c = open("c");
    await join("n2");
    clock.advance(250);
    assert.deepEqual(
      c.heard.map(({ node, isHeld }) => [node, isHeld]),
      [["n2", true]],
    );
    assert.deepEqual(a.heard, []);
  });

  test("sends nothing while the dispatch plane is unreachable, and sends pending observations afterwards", () => {
    const [a, b] = [open("a"), open("b")];
    (plane.health as { isAway: boolean }).isAway = true;
    a.tell("n1", { at: 1 });
    clock.advance(1_000);
    assert.deepEqual(b.heard, []);
    (plane.health as { isAway: boolean }).isAway = false;
    clock.advance(250);
    assert.equal(b.heard.length, 1);
  });

  test("sends no observations without other gateways, and ignores an invalid message", () => {
    const a = open("a");
    const before = sent;
    for (let i = 0; i < 100; i++) a.tell("n1", { at: i });
    clock.advance(1_000);
    assert.equal(sent - before, 0);
    const invalid = [
      ...["", "{", "7", "{}", '{"from":"x","at":"noon"}', '{"from":"x","at":1,"news":[]}'],
      '{"from":"x","at":1,"news":{"seen":{"n1":{}}}}',
      '{"from":"x","at":1,"work":{"whole":true,"jobs":{"n1":-1}}}',
      '{"from":"x","at":1,"accounts":{"whole":true,"loads":{"m":{"a":[1]}}}}',
    ];
    for (const text of invalid) plane.publish(PEERS_SUBJECT, Buffer.from(text));
    assert.equal(a.peers.gateways(), 1);
  });

  test("does not allow nodes to publish or subscribe to the subject of the exchange", () => {
    const { publish, subscribe } = nodePermissions("node_1");
    for (const pattern of [...publish, ...subscribe]) {
      for (const subject of [PEERS_SUBJECT, peerSubject("a"), peerSubject("node_1")])
        assert.equal(patternCovers(pattern, subject), false);
    }
  });
});
