import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFrame, encodeFrame } from "@tollgate/protocol/frame-codec.ts";
import { JobJoiner } from "@tollgate/protocol/job-splitting.ts";
import { gatewaySubject, nodeSubject } from "@tollgate/protocol/nats-subjects.ts";
import fc from "fast-check";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { manualClock, seededRandom, waitOneTurn } from "../base/testing.ts";
import { openDispatcher } from "./dispatcher.ts";
import { openPeerGateways } from "./exchange/peer-gateways.ts";
import { RecentDemand, RequestsInService, serveFairly } from "./fair-shares.ts";
import { Roster } from "./roster.ts";
import { FakeNode, MemoryPlane } from "./testing.ts";

interface Waiting {
  account: string;
  /** The index of the only kind of slot that the request can use, below `KINDS`. */
  slot: number;
}

const KINDS = 2;
const waiting = fc.record({ account: fc.constantFrom("a", "b", "c"), slot: fc.nat(KINDS - 1) });
const history = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ comes: waiting }) },
    { weight: 2, arbitrary: fc.record({ ends: fc.nat(20) }) },
  ),
  { maxLength: 80 },
);

/**
 * Plays a history of arriving and ending requests, with this number of slots of each kind. `served` is called for each
 * served request, with the requests that waited.
 */
function play(
  steps: ({ comes: Waiting } | { ends: number })[],
  slots: number,
  served: (one: Waiting, line: Waiting[], inService: RequestsInService) => void,
): { line: Waiting[]; free: number[] } {
  const inService = new RequestsInService();
  const free: number[] = Array(KINDS).fill(slots);
  const running: Waiting[] = [];
  let line: Waiting[] = [];
  for (const step of steps) {
    if ("comes" in step) line.push(step.comes);
    else if (running.length > 0) {
      const [ended] = running.splice(step.ends % running.length, 1) as [Waiting];
      inService.add(ended.account, -1);
      free[ended.slot] = (free[ended.slot] as number) + 1;
    }
    serveFairly([...line], inService, (one) => {
      if (free[one.slot] === 0) return false;
      served(one, line, inService);
      free[one.slot] = (free[one.slot] as number) - 1;
      line = line.filter((other) => other !== one);
      inService.add(one.account, 1);
      running.push(one);
      return true;
    });
    // No request may wait while a slot that it can use is free.
    for (const one of line) assert.equal(free[one.slot], 0);
  }
  return { line, free };
}

test("fair shares leave no slot free while a waiting request can use it", () => {
  fc.assert(fc.property(history, fc.integer({ min: 1, max: 3 }), (steps, slots) => void play(steps, slots, () => {})));
});

test("fair shares serve waiting accounts that use fewer slots first, and each account's oldest request first", () => {
  fc.assert(
    fc.property(history, fc.integer({ min: 1, max: 3 }), (steps, slots) => {
      play(steps, slots, (one, line, inService) => {
        for (const other of line.filter(({ slot }) => slot === one.slot))
          assert.ok(inService.of(one.account) <= inService.of(other.account), "it has no more than who waits");
        const own = line.filter(({ account, slot }) => account === one.account && slot === one.slot);
        assert.equal(own[0], one);
      });
    }),
  );
});

test("fair shares give a single account all slots, and a second account each freed slot until both have the same number", () => {
  const comes = (account: string, times: number) =>
    Array.from({ length: times }, () => ({ comes: { account, slot: 0 } }));
  const order: string[] = [];
  play(
    [...comes("a", 200), ...comes("b", 4), ...Array.from({ length: 6 }, () => ({ ends: 0 }))],
    8,
    ({ account }) => void order.push(account),
  );
  assert.equal(order.join(""), "aaaaaaaa" + "bbbb" + "aa");
});

test("the dispatcher serves other accounts' requests between those of an account with many waiting requests", async () => {
  const [clock, plane, log] = [manualClock(), new MemoryPlane(), createLog("silent")];
  const nodeRecord = async (id: string) => ({ nodeId: id as Uuid, hostAccountId: "h" as Uuid, models: ["tiny-3b"] });
  const roster = new Roster({ plane, clock, random: seededRandom(1), log, nodeRecord });
  const dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId: "gw1", deadlineMs: 10_000 });
  const node = new FakeNode(plane, { id: "n", gatewayId: "gw1" });
  node.report({ models: ["tiny-3b"], slots: 2 });
  await waitOneTurn();
  const sink = { reachedClient: false, begin() {}, delta: () => "more" as const, finished: () => "answered" as const };
  let sent = 0;
  const run = (accountId: string) =>
    dispatcher.run(
      {
        request: String(++sent).padStart(26, "0"),
        header: { model: "tiny-3b", endpoint: "chat", stream: false, output_tokens_max: 9, sampling: {} },
        body: { messages: [{ role: "user", content: accountId }] },
        origin: { accountId, promptTokens: 1 },
      },
      { ...sink, vectors: () => "broken" },
      new AbortController().signal,
    );
  const ends = [..."aaaaaabbc"].map(run);
  for (let nth = 1; nth <= ends.length; nth++) {
    const job = await node.job(nth);
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "x");
    node.say({ kind: "done", job, seq: 1, finish: "stop" });
  }
  await Promise.all(ends);
  const order = node.heard.flatMap((frame) =>
    frame.kind === "job"
      ? [(new JobJoiner(frame).body() as { messages: { content: string }[] }).messages[0]?.content]
      : [],
  );
  assert.equal(order.join(""), "aabcabaaa");
});

test("two gateways give an account no more than its equal share of slots while another account waits at the other gateway", async () => {
  const [clock, plane, log] = [manualClock(), new MemoryPlane(), createLog("silent")];
  const nodeRecord = async (id: string) => ({ nodeId: id as Uuid, hostAccountId: "h" as Uuid, models: ["tiny-3b"] });
  const open = (gatewayId: string) => {
    const roster = new Roster({ plane, clock, random: seededRandom(1), log, nodeRecord });
    const peers = openPeerGateways({ plane, roster, gatewayId, clock, log });
    return openDispatcher({ plane, roster, clock, log, gatewayId, deadlineMs: 60_000, peers });
  };
  const gateways = { a: open("gw1"), b: open("gw2") };
  /** The jobs that the node runs, with the number of their next output frame. */
  const running: { job: string; gateway: string; seq: number }[] = [];
  const served: string[] = [];
  const say = (gateway: string, frame: Parameters<typeof encodeFrame>[0]): void =>
    plane.publish(gatewaySubject(gateway, "n"), encodeFrame(frame));
  plane.subscribe(nodeSubject("n"), (_subject, payload) => {
    const frame = decodeFrame(payload);
    if (frame.kind !== "job") return;
    const { job, gateway } = frame.header;
    served.push(gateway === "gw1" ? "a" : "b");
    running.push({ job, gateway, seq: 0 });
    say(gateway, { kind: "accepted", job });
  });
  /** Gives the gateways the time to exchange what they know. The jobs continue meanwhile. */
  const exchange = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      for (const one of running)
        say(one.gateway, { kind: "deltas", deltas: [{ job: one.job, seq: one.seq++, channel: "answer", text: "x" }] });
      clock.advance(250);
      await waitOneTurn();
    }
  };
  const end = async (): Promise<void> => {
    const { job, gateway, seq } = running.shift() as (typeof running)[number];
    say(gateway, { kind: "done", job, seq, finish: "stop" });
    await waitOneTurn();
    await exchange();
  };
  new FakeNode(plane, { id: "n", gatewayId: "gw1" }).report({ models: ["tiny-3b"], slots: 4 });
  await waitOneTurn();
  let sent = 0;
  const run = (accountId: "a" | "b") => {
    const sink = {
      reachedClient: false,
      begin() {},
      delta: () => "more" as const,
      finished: () => "answered" as const,
    };
    const header = { model: "tiny-3b", endpoint: "chat", stream: false, output_tokens_max: 9, sampling: {} } as const;
    const order = {
      request: String(++sent).padStart(26, "0"),
      header,
      body: { messages: [{ role: "user" as const, content: accountId }] },
      origin: { accountId, promptTokens: 1 },
    };
    return gateways[accountId].run(order, { ...sink, vectors: () => "broken" }, new AbortController().signal);
  };
  const ends = [..."aaaaaaaaaaaa"].map(() => run("a"));
  await exchange();
  assert.equal(served.join(""), "aaaa", "nobody else waits");
  ends.push(...[..."bbbb"].map(() => run("b")));
  await exchange();
  for (let i = 0; i < 6; i++) await end();
  assert.equal(served.join(""), "aaaa" + "bb" + "aabb");
  while (running.length > 0) await end();
  for (const each of await Promise.all(ends)) assert.equal(each.end, "finished");
  assert.equal(served.join("").slice(10), "aaaaaa");
});

test("an account with its equal share of slots leaves free as many slots as others recently used, plus one", () => {
  const crowd = new RecentDemand();
  const leaves = (has: number, others: number, now: number) =>
    crowd.leaves("a", { has, othersHave: others, accounts: 2 }, 16, now);
  crowd.asked("a", 0);
  assert.equal(leaves(15, 0, 0), false, "it is alone");
  crowd.asked("b", 1_000);
  assert.deepEqual([leaves(14, 0, 1_000), leaves(15, 0, 1_000)], [false, true]);
  assert.deepEqual([leaves(9, 5, 2_000), leaves(10, 5, 2_000)], [false, true]);
  assert.deepEqual([leaves(9, 0, 3_000), leaves(10, 0, 3_000)], [false, true], "they may ask for as many again");
  assert.deepEqual([leaves(11, 0, 7_000), leaves(12, 0, 7_000)], [false, true], "less and less");
  assert.equal(leaves(7, 9, 7_000), false, "half is its own, of two");
  for (let i = 0; i < 6; i++) crowd.waits("b", 1);
  crowd.waits("a", 1);
  assert.deepEqual([leaves(8, 0, 7_000), leaves(9, 0, 7_000)], [false, true], "who waits counts");
  for (let i = 0; i < 6; i++) crowd.waits("b", -1);
  assert.equal(leaves(15, 0, 11_000), false, "nobody else asked for ten seconds");
});

test("an account's equal share is half of the slots while no other account is served, and a quarter while four are served", () => {
  const crowd = new RecentDemand();
  crowd.asked("b", 0);
  crowd.asked("a", 0);
  assert.equal(crowd.leaves("a", { has: 1, othersHave: 0, accounts: 1 }, 2, 0), true);
  assert.equal(crowd.leaves("a", { has: 0, othersHave: 0, accounts: 1 }, 1, 0), false, "a single slot is anybody's");
  assert.equal(crowd.leaves("a", { has: 4, othersHave: 12, accounts: 4 }, 16, 0), true, "a quarter of four");
  assert.equal(crowd.leaves("a", { has: 3, othersHave: 12, accounts: 4 }, 16, 0), false);
});
