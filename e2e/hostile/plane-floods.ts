/** Floods of the dispatch plane: messages that a node can send endlessly, over all connections that it may have. */

import assert from "node:assert/strict";
import { encodeStateFrame } from "@tollgate/stage/nodes/hand-made-node.ts";
import { RawNode } from "@tollgate/stage/nodes/raw-node.ts";
import type { Stage } from "@tollgate/stage/stage.ts";
import { eventually, hangSignal } from "@tollgate/stage/wait.ts";
import { encodeFrame } from "../../protocol/src/frame-codec.ts";
import { nodeStateSubject } from "../../protocol/src/nats-subjects.ts";

/** The number of connections that a node may have at a time. */
const CONNECTIONS = 4;
/** The approximate number of bytes per write. */
const WRITE_BYTES = 64 * 1024;
const MODEL = "small-8b";

interface Message {
  subject: string;
  payload: Uint8Array;
}

/** Returns the next message of a node's flood. `gateway` is the name of the gateway that it targets. */
export type Flood = (node: string, gateway: string) => () => Message;

const job = "06dfk3zq9v8n2x4m7t1c5w0rbe-01";
const deltas = Array.from({ length: 1024 }, (_, seq) => ({ job, seq, channel: "answer" as const, text: "x" }));
const cycle = <T>(list: T[]): (() => T) => {
  let i = 0;
  return () => list[i++ % list.length] as T;
};

export const sendMalformedStates: Flood = (node) => {
  const payloads = [
    Buffer.from("\x01\x17{"),
    Buffer.from([1, 23, ...Buffer.from('{"protocol":"1.0","slots":-1}')]),
    Buffer.from([1, 23, ...Buffer.alloc(2_000, 0x7b)]),
    Buffer.from([9]),
    Buffer.alloc(0),
  ];
  return cycle(payloads.map((payload) => ({ subject: nodeStateSubject(node), payload })));
};

export const sendStatesOfManyModels: Flood = (node) => {
  const models = Array.from({ length: 250 }, (_, n) => `model-${n}-${"x".repeat(40)}`);
  let busy = 0;
  return () => ({ subject: nodeStateSubject(node), payload: encodeStateFrame({ models, busy: busy++ % 64 }) });
};

export const sendMalformedFrames: Flood = (node, gateway) => {
  const message = { subject: `tg.g.${gateway}.${node}`, payload: Buffer.from("\x01\x10{") };
  return () => message;
};

/**
 * Output of jobs that do not exist. The gateway disconnects the node only if it receives too much per second, which
 * depends on how fast it reads.
 */
export const sendOutputOfUnknownJobs: Flood = (node, gateway) =>
  cycle([
    { subject: `tg.g.${gateway}.${node}`, payload: encodeFrame({ kind: "deltas", deltas }) },
    { subject: `tg.g.0.${node}`, payload: Buffer.alloc(32 * 1024, 7) },
  ]);

let joined = 0;

/** Joins the plane with a node of a new host. */
export async function joinFloodingNode(stage: Stage): Promise<RawNode> {
  return await RawNode.join(stage, await stage.host(), { name: `flooding-${joined++}`, models: [MODEL] });
}

/** Finds the name of the gateway: a node that joins gets a probe, and the probe contains the name. */
export async function findGatewayName(stage: Stage): Promise<string> {
  const node = await joinFloodingNode(stage);
  assert.equal(await node.connect(), true);
  const payload = encodeStateFrame({ slots: 1, models: [MODEL] });
  await node.publish([{ subject: nodeStateSubject(node.id), payload }]);
  await eventually("the gateway sends it a job", () => node.jobs.length > 0);
  node.leave();
  return node.gateway;
}

/** Floods over four connections. The gateway must cut all of them. */
export async function floodUntilCut(node: RawNode, next: () => Message): Promise<void> {
  const lines = [node, ...Array.from({ length: CONNECTIONS - 1 }, () => node.twin())];
  for (const line of lines) assert.equal(await line.connect(), true);
  const hung = hangSignal();
  await Promise.all(
    lines.map(async (line) => {
      while (line.isConnected && !hung.aborted) {
        await line.publish(chunkOf(next));
        await new Promise((resolve) => setImmediate(resolve));
      }
    }),
  );
  const left = lines.filter((line) => line.isConnected);
  for (const line of left) line.leave();
  assert.equal(left.length, 0, "it was cut off, with every connection");
}

function chunkOf(next: () => Message): Message[] {
  const chunk: Message[] = [];
  for (let bytes = 0; bytes < WRITE_BYTES; bytes += 60 + (chunk.at(-1) as Message).payload.length) chunk.push(next());
  return chunk;
}
