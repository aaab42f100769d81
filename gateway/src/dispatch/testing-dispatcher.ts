/** For tests: a dispatcher with its roster, on a plane in memory and a clock that the test moves. */
import type { Uuid } from "../base/ids.ts";
import { createLog, type Log } from "../base/log.ts";
import { type ManualClock, manualClock, seededRandom, waitOneTurn } from "../base/testing.ts";
import type { DispatchRequest, DispatchSink } from "./dispatch-request.ts";
import type { DispatchResult } from "./dispatch-result.ts";
import { type Dispatcher, openDispatcher } from "./dispatcher.ts";
import type { NodeRecord } from "./node-records.ts";
import { Roster } from "./roster.ts";
import { FakeNode, MemoryPlane } from "./testing.ts";

export const MODEL = "tiny-3b";
export const REQUEST_ID = "06dfk3zq9v8n2x4m7t1c5w0rbe";
export const DISPATCH_REQUEST: DispatchRequest = {
  request: REQUEST_ID,
  header: { model: MODEL, endpoint: "chat", stream: true, output_tokens_max: 9, sampling: {} },
  body: { messages: [{ role: "user", content: "hi" }] },
};
/** The signal of a client that stays until the end. */
export const NEVER_ABORTED = new AbortController().signal;

export interface DispatchRig {
  clock: ManualClock;
  plane: MemoryPlane;
  roster: Roster;
  dispatcher: Dispatcher;
  /** Connects a node that reports this state. By default it has one slot. */
  online(id: string, told?: Partial<Parameters<FakeNode["report"]>[0]>): Promise<FakeNode>;
  /** Runs the request `ORDER`. */
  run(sink: DispatchSink, signal?: AbortSignal): Promise<DispatchResult>;
}

/** `nodeRecord`: what the database knows of a node. By default each node has a host of its own. */
export function openDispatchRig({
  log = createLog("silent"),
  nodeRecord = nodeRecordOf,
}: {
  log?: Log;
  nodeRecord?: (id: string) => NodeRecord | undefined | Promise<NodeRecord>;
} = {}): DispatchRig {
  const [clock, plane] = [manualClock(), new MemoryPlane()];
  const roster = new Roster({ plane, clock, random: seededRandom(1), log, nodeRecord: async (id) => nodeRecord(id) });
  const dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId: "gw1", deadlineMs: 10_000 });
  return {
    clock,
    plane,
    roster,
    dispatcher,
    async online(id, told) {
      const node = new FakeNode(plane, { id, gatewayId: "gw1" });
      node.report({ models: [MODEL], slots: 1, ...told });
      await waitOneTurn();
      return node;
    },
    run: (sink, signal = NEVER_ABORTED) => dispatcher.run(DISPATCH_REQUEST, sink, signal),
  };
}

export const nodeRecordOf = (id: string): NodeRecord => ({
  nodeId: id as Uuid,
  hostAccountId: `host-of-${id}` as Uuid,
  models: [MODEL],
});

/** Waits until one of two nodes is offered the request. `other`: the node that was not asked. */
export const waitForFirstOffer = (
  a: FakeNode,
  b: FakeNode,
): Promise<{ job: string; node: FakeNode; other: FakeNode }> =>
  Promise.race([
    a.job().then((job) => ({ job, node: a, other: b })),
    b.job().then((job) => ({ job, node: b, other: a })),
  ]);

/** Lets the node accept the job and answer it with one word. */
export function answerJob(node: FakeNode, job: string): void {
  node.say({ kind: "accepted", job });
  node.delta(job, 0, "whole");
  node.say({ kind: "done", job, seq: 1, finish: "stop" });
}

/** Lets a node with one slot report its state. */
export async function reportState(node: FakeNode, busy = 0): Promise<void> {
  node.report({ models: [MODEL], slots: 1, busy });
  await waitOneTurn();
}

/** The jobs that gateways told the node to cancel. */
export const listCancelledJobs = (node: FakeNode): string[] =>
  node.heard.flatMap((frame) => (frame.kind === "cancel" ? [frame.job] : []));

/** The kinds of the frames that gateways sent to the node. */
export const listReceivedFrameKinds = (node: FakeNode): string[] => node.heard.map(({ kind }) => kind);
