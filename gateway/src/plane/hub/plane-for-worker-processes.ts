/**
 * The embedded plane for several worker processes. The hub, to which nodes connect, runs in the primary process.
 * Workers publish and subscribe over a channel to it. Nodes stay connected when a worker ends. Both ends of the channel
 * are in this file to keep them in step.
 */
import { parseSendingNode } from "@tollgate/protocol/nats-subjects.ts";
import type { Clock } from "../../base/clock.ts";
import { createReachableDependency } from "../../base/dependency.ts";
import { invariant } from "../../base/invariant.ts";
import type { Log } from "../../base/log.ts";
import { LOWEST_FREE_MESSAGE_KIND, type ProcessMessageChannel } from "../../base/process-message-channel.ts";
import { rateLimitedLog } from "../../base/rate-limited-log.ts";
import { isNodeId } from "../credentials/user-jwt.ts";
import type { DispatchPlane, NodeCredentials } from "../plane.ts";
import { isSubject } from "../subject-patterns.ts";
import type { Hub } from "./hub.ts";
import { HUB_LIMITS } from "./hub-limits.ts";

const KINDS = {
  publish: 0,
  subscribe: 1,
  unsubscribe: 2,
  message: 3,
  gone: 4,
  mint: 5,
  revoke: 6,
  cut: 7,
  refuseNew: 8,
};
/** The channel's message kinds start after those of the limits. */
const kind = (name: keyof typeof KINDS): number => LOWEST_FREE_MESSAGE_KIND + 16 + KINDS[name];

/** For the primary process. Returns a function that connects a new worker to the plane. */
export function openHubToWorkers(hub: Hub): (channel: ProcessMessageChannel) => void {
  const channels = new Set<ProcessMessageChannel>();
  hub.onNodeGone((nodeId) => {
    for (const channel of channels) channel.tell(kind("gone"), { text: nodeId });
  });
  return (channel) => {
    channels.add(channel);
    const leaves = new Map<number, () => void>();
    channel.on(kind("publish"), ({ text, bytes }) => hub.publish(text, bytes));
    channel.on(kind("subscribe"), ({ number, text }) => {
      const deliver = (subject: string, bytes: Uint8Array): void =>
        channel.tell(kind("message"), { number, text: subject, bytes });
      leaves.set(number, hub.subscribe(text, deliver));
    });
    channel.on(kind("unsubscribe"), ({ number }) => {
      leaves.get(number)?.();
      leaves.delete(number);
    });
    channel.answer(kind("mint"), async ({ text }) => JSON.stringify(await hub.mint(text)));
    channel.answer(kind("revoke"), ({ text }) => hub.revoke(text).then(() => ""));
    channel.answer(kind("refuseNew"), ({ text }) => hub.refuseNewConnections(text).then(() => ""));
    channel.answer(kind("cut"), ({ text }) => hub.cut(text).then(() => ""));
    void channel.closed.then(() => {
      channels.delete(channel);
      for (const leave of leaves.values()) leave();
    });
  };
}

/** For a worker. The worker ends when the channel closes, because it cannot run without the primary process. */
export function openPlaneInWorker(
  channel: ProcessMessageChannel,
  { clock, log }: { clock: Clock; log: Log },
): DispatchPlane {
  const peerLog = rateLimitedLog(log, clock);
  const subscribers = new Map<number, (subject: string, payload: Uint8Array) => void>();
  const goneListeners: ((nodeId: string, by: "node") => void)[] = [];
  let subscribed = 0;
  const tellGone = (nodeId: string): void => {
    for (const gone of goneListeners) gone(nodeId, "node");
  };
  channel.on(kind("message"), ({ number, text: subject, bytes }) => {
    try {
      subscribers.get(number)?.(subject, bytes);
    } catch (error) {
      // A subscriber threw, so the node's stream has a gap: its jobs fail as if it had disconnected.
      const nodeId = parseSendingNode(subject);
      peerLog.error(nodeId ?? "", { nodeId, err: error }, "plane: subscriber failed");
      if (nodeId !== undefined) tellGone(nodeId);
    }
  });
  channel.on(kind("gone"), ({ text }) => tellGone(text));
  return {
    isShared: true,
    health: createReachableDependency("plane"),
    hears: true,
    publish(subject, bytes, rest) {
      invariant(isSubject(subject), "a message is published to one plain subject");
      const size = bytes.length + (rest?.length ?? 0);
      invariant(size <= HUB_LIMITS.payloadBytesMax, "a message fits the plane's payload limit");
      channel.tell(kind("publish"), { text: subject, bytes, ...(rest !== undefined && { rest }) });
    },
    subscribe(pattern, receive) {
      subscribed += 1;
      const number = subscribed;
      subscribers.set(number, receive);
      channel.tell(kind("subscribe"), { number, text: pattern });
      return () => {
        if (subscribers.delete(number)) channel.tell(kind("unsubscribe"), { number });
      };
    },
    onNodeGone: (gone) => void goneListeners.push(gone),
    onAway() {},
    onBack() {},
    movedAt: () => undefined,
    movedFrom: () => undefined,
    answers: () => true,
    reaches: () => true,
    whenProven: (_nodeId, told) => told(true),
    async mint(nodeId) {
      return JSON.parse((await channel.ask(kind("mint"), nodeId)).text) as NodeCredentials;
    },
    async revoke(nodeId) {
      invariant(isNodeId(nodeId), "a node ID must not be empty or contain dots, spaces, * or >");
      await channel.ask(kind("revoke"), nodeId);
    },
    async refuseNewConnections(nodeId) {
      await channel.ask(kind("refuseNew"), nodeId);
    },
    async cut(nodeId) {
      await channel.ask(kind("cut"), nodeId);
    },
    async close() {},
  };
}
