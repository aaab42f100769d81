/** For tests that run in the same way on every kind of dispatch plane, with ordinary NATS clients and with raw peers. */
import { randomBytes } from "node:crypto";
import { duplexPair } from "node:stream";
import { after, before, describe, type TestContext } from "node:test";
import type { NatsConnection } from "@nats-io/transport-node";
import { HANG_LIMIT_MS } from "@tollgate/stage/wait.ts";
import { type Clock, systemClock as clock } from "../base/clock.ts";
import { createLog } from "../base/log.ts";
import { ProcessMessageChannel } from "../base/process-message-channel.ts";
import { openHubToWorkers, openPlaneInWorker } from "./hub/plane-for-worker-processes.ts";
import { openTestHub, RawPeer } from "./hub/testing-hub.ts";
import { type NatsServer, openTestPlane, skipWithoutNats, startNatsServer } from "./nats/testing-nats-server.ts";
import type { DispatchPlane, NodeCredentials } from "./plane.ts";

export type TestPlane = DispatchPlane & { accountSeed: string };
export type OpenPlane = (t: TestContext, options?: { credentialTtlMs?: number; clock?: Clock }) => Promise<TestPlane>;

/** Defines the suite's tests once for each kind of plane. */
export function onEveryPlane(suite: (open: OpenPlane) => void): void {
  describe("the embedded hub", () => {
    // Client and hub share this thread, so the login can take long on a busy machine.
    const limits = { connectDeadlineMs: HANG_LIMIT_MS };
    suite((t, options) => openTestHub(t, { clock, limits, ...options }));
  });

  describe("the primary's hub used from worker processes", () => {
    const limits = { connectDeadlineMs: HANG_LIMIT_MS };
    suite(async (t, options) => {
      const hub = await openTestHub(t, { clock, limits, ...options });
      const [worker, primary] = duplexPair().map((end) => new ProcessMessageChannel(end, { clock })) as [
        ProcessMessageChannel,
        ProcessMessageChannel,
      ];
      t.after(() => worker.close());
      openHubToWorkers(hub)(primary);
      return Object.assign(openPlaneInWorker(worker, { clock, log: createLog("silent") }), {
        accountSeed: hub.accountSeed,
      });
    });
  });

  describe("NATS", { skip: skipWithoutNats }, () => {
    let server: NatsServer;
    before(async () => {
      server = await startNatsServer();
    });
    after(async () => {
      await server.kill();
      await server.remove();
    });
    suite(async (t, options) =>
      Object.assign(await openTestPlane(t, server, options), { accountSeed: server.setup.accountSeed }),
    );
  });
}

export const AUTHORIZATION_REFUSED = /Authorization Violation/;
export const TEST_PAYLOAD = Buffer.from("x");

/** Counts the nodes. Tests share a server, so each uses new node names. */
let nodes = 0;
export const makeNodeName = (): string => `n${++nodes}`;

/** Resolves when all messages sent so far have arrived. */
export async function waitUntilDelivered(plane: DispatchPlane, ...clients: NatsConnection[]): Promise<void> {
  await Promise.all(clients.map((client) => client.flush()));
  await waitForOwnMessage(plane);
  await Promise.all(clients.map((client) => client.flush()));
}

/**
 * Publishes a message on the plane and waits until the same plane receives it, which is after all messages sent before.
 */
export function waitForOwnMessage(plane: DispatchPlane): Promise<void> {
  const subject = `tg.test.${randomBytes(6).toString("hex")}`;
  return new Promise((resolve) => {
    const leave = plane.subscribe(subject, () => {
      leave();
      resolve();
    });
    plane.publish(subject, TEST_PAYLOAD);
  });
}

export function waitUntilNodeGone(plane: DispatchPlane, node: string): Promise<void> {
  return new Promise((resolve) => plane.onNodeGone((gone) => gone === node && resolve()));
}

export function connectRawPeerOfNode(t: TestContext, { url }: NodeCredentials): RawPeer {
  const peer = new RawPeer({ port: Number(new URL(url).port) });
  t.after(() => peer.socket.destroy());
  return peer;
}
