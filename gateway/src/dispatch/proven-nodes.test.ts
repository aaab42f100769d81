/** Requests of API keys that opted out of spot checks are only served by nodes with many spot-checked answers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { manualClock, seededRandom, waitOneTurn } from "../base/testing.ts";
import { openDispatcher } from "./dispatcher.ts";
import { Roster } from "./roster.ts";
import { FakeNode, MemoryPlane } from "./testing.ts";

const MODEL = "tiny-3b";
const SINK = {
  begin() {},
  delta: () => "more" as const,
  vectors: () => "broken" as const,
  finished: () => "answered" as const,
  reachedClient: false,
};

test("a request that needs a proven node goes only to a node with 1,000 spot-checked answers of the model, or fails at once", async () => {
  const [clock, plane, log] = [manualClock(), new MemoryPlane(), createLog("silent")];
  let checked: Record<string, number> = { [MODEL]: 999, "another-model": 5_000 };
  const roster = new Roster({
    plane,
    clock,
    random: seededRandom(1),
    log,
    nodeRecord: async (id) => ({ nodeId: id as Uuid, hostAccountId: "h" as Uuid, models: [MODEL], checked }),
  });
  const dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId: "gw1", deadlineMs: 10_000 });
  const node = new FakeNode(plane, { id: "a", gatewayId: "gw1" });
  node.report({ models: [MODEL], slots: 1 });
  await waitOneTurn();
  const header = { model: MODEL, endpoint: "chat" as const, stream: false, output_tokens_max: 9, sampling: {} };
  const order = { request: "0".repeat(26), header, body: { messages: [] }, proven: true };
  const signal = new AbortController().signal;
  assert.equal((await dispatcher.run(order, SINK, signal)).end, "no_capacity");
  checked = { [MODEL]: 1_000 };
  await roster.review("a");
  assert.ok(roster.serves({ model: MODEL, proven: true }, new Set()));
  const running = dispatcher.run(order, SINK, signal);
  await waitOneTurn();
  assert.equal(roster.find("a")?.outstanding, 1);
  dispatcher.close();
  roster.close();
  void running;
});
