/** Tests behavior that only separate servers have: outages, several gateways, clusters and lasting revocations. */
import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { afterEach, beforeEach, describe, type TestContext, test } from "node:test";
import { encodeFrame } from "@tollgate/protocol/frame-codec.ts";
import {
  ALL_NODE_STATES_SUBJECT,
  gatewayInboxSubject,
  gatewaySubject,
  nodeStateSubject,
  nodeSubject,
  STATE_REQUEST_SUBJECT,
} from "@tollgate/protocol/nats-subjects.ts";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { systemClock as clock } from "../../base/clock.ts";
import type { Uuid } from "../../base/ids.ts";
import { createLog, type Log } from "../../base/log.ts";
import { systemRandom } from "../../base/random.ts";
import { manualClock, seededRandom } from "../../base/testing.ts";
import { Roster } from "../../dispatch/roster.ts";
import { createKey } from "../credentials/nkeys.ts";
import { connectClient } from "../hub/testing-hub.ts";
import type { DispatchPlane, NodeCredentials } from "../plane.ts";
import { AUTHORIZATION_REFUSED, TEST_PAYLOAD } from "../testing-planes.ts";
import { NatsSetupError } from "./connect-to-nats.ts";
import { readServerIdOfPing } from "./connection-events.ts";
import { createPlaneSetup } from "./plane-setup.ts";
import { PlaneUnreachableError } from "./reconnecting-connection.ts";
import { PING_SERVERS_EVERY_MS } from "./server-pings.ts";
import { pingAnswerSubject } from "./subjects.ts";
import { openBreakableConnection } from "./testing-breakable-connection.ts";
import { type NatsServer, openTestPlane, skipWithoutNats, startNatsServer } from "./testing-nats-server.ts";

describe("a plane on NATS", { skip: skipWithoutNats }, () => {
  let server: NatsServer;
  beforeEach(async () => {
    server = await startNatsServer();
  });
  afterEach(async () => {
    await server.kill();
    await server.remove();
  });

  describe("when its server is unreachable", () => {
    test("reports the outage immediately, queues no messages and reconnects by itself", async (t) => {
      const { log, lines } = recordingLog();
      const plane = await openTestPlane(t, server, { log });
      const heard: string[] = [];
      plane.subscribe(ALL_NODE_STATES_SUBJECT, (subject, payload) => heard.push(`${subject} ${Buffer.from(payload)}`));
      const first = await connectClient(t, await plane.mint("n1"));
      first.publish(nodeStateSubject("n1"), "here");
      await eventually("the gateway heard it", () => heard.length === 1);

      const gone: string[] = [];
      plane.onNodeGone((nodeId) => gone.push(nodeId));
      const [away, back] = [untilAway(plane), untilBack(plane)];
      await server.kill();
      await away;
      assert.equal(plane.health.isAway, true);
      assert.equal(plane.hears, false);
      await assert.rejects(plane.mint("n1"), PlaneUnreachableError);
      plane.publish(nodeSubject("n1"), Buffer.from("an old job"));
      await eventually("it is said", () =>
        lines().some(({ msg }) => /dispatch plane \(NATS\) is unreachable/.test(msg)),
      );

      await server.start();
      await back;
      assert.equal(plane.health.isAway, false);
      assert.deepEqual(gone, [], "nobody is said to have left");
      assert.ok(lines().some(({ msg }) => /dispatch plane \(NATS\) is reachable again/.test(msg)));
      const jobs: string[] = [];
      const again = await connectClient(t, await plane.mint("n1"));
      again.subscribe(nodeSubject("n1"), { callback: (_, job) => void jobs.push(job.string()) });
      await again.flush();
      plane.publish(nodeSubject("n1"), Buffer.from("a new job"));
      again.publish(nodeStateSubject("n1"), "back");
      await eventually("both hear each other", () => jobs.length === 1 && heard.length === 2);
      assert.deepEqual(jobs, ["a new job"]);
      assert.deepEqual(heard, ["tg.s.n1 here", "tg.s.n1 back"]);
      const about = lines().filter(({ msg }) => /dispatch plane \(NATS\) is (still )?unreachable/.test(msg));
      assert.equal(about.filter(({ msg }) => !msg.includes("still")).length, 1, "one outage begins once");
      const repeated = about.filter(({ reason }, i) => i > 0 && reason === about[i - 1]?.reason);
      assert.deepEqual(repeated, [], "it is told again only when its reason changes");
    });

    test("asks nodes that stayed connected for their state, if only the gateway was disconnected", async (t) => {
      const cable = await openBreakableConnection(t, server.port);
      const plane = await openTestPlane(t, server, { url: cable.url, publicUrl: server.url });
      const roster = newRoster(t, plane);
      const node = await connectClient(t, await plane.mint("n1"));
      node.subscribe(STATE_REQUEST_SUBJECT, { callback: () => node.publish(nodeStateSubject("n1"), state()) });
      node.publish(nodeStateSubject("n1"), state());
      await eventually("the gateway knows it", () => roster.nodes().length === 1);
      const away = untilAway(plane);
      cable.cut();
      await away;
      assert.equal(roster.nodes().length, 0);
      assert.equal(roster.slots("m"), 4, "what they can do is remembered");
      await eventually("the gateway knows it again", () => roster.nodes().length === 1);
      const left = untilGone(plane, "n1");
      await node.close();
      await left;
    });

    test("reconnects if its server hangs, and does not blame nodes for missing messages", async (t) => {
      const plane = await openTestPlane(t, server, { clock });
      await eventually("it answers", () => plane.health.latencyMs !== null && plane.hears);
      const [away, back] = [untilAway(plane), untilBack(plane)];
      server.freeze();
      await eventually("it is noticed", () => !plane.hears);
      await away;
      server.thaw();
      await back;
      await eventually("it hears again", () => plane.hears);
    });

    test("detects a frozen server when a node on it is checked", async (t) => {
      const plane = await openTestPlane(t, server, { clock });
      const node = await connectClient(t, await plane.mint("n1"));
      await eventually("it answers", () => plane.health.latencyMs !== null && plane.hears);
      const proven = (): Promise<boolean> => new Promise((resolve) => plane.whenProven("n1", resolve));
      await eventually("it is well", proven);
      server.freeze();
      // The reply to a ping that the server answered before it froze may still arrive, and proves the node once more.
      await eventually("it is not well", async () => !(await proven()));
      server.thaw();
      await eventually("it is well again", proven);
      await node.close();
    });

    test("queues a revocation during the outage and applies it when the server is back", async (t) => {
      const plane = await openTestPlane(t, server);
      const minted = await plane.mint("n1");
      await server.kill();
      await assert.rejects(plane.revoke("n1"));
      const back = untilBack(plane);
      await server.start();
      await eventually("the credential is refused", () =>
        connectClient(t, minted).then(
          (client) => client.close().then(() => false),
          () => true,
        ),
      );
      await back;
      await connectClient(t, await plane.mint("n1"));
    });
  });

  describe("at the start", () => {
    test("waits for a server that is not reachable yet", async (t) => {
      await server.kill();
      const plane = await openTestPlane(t, server);
      const heard: string[] = [];
      plane.subscribe(nodeStateSubject("n1"), (subject) => heard.push(subject));
      await assert.rejects(plane.mint("n1"), PlaneUnreachableError);
      await server.start();
      let minted: NodeCredentials | undefined;
      await eventually("it mints", async () => {
        minted = await plane.mint("n1").catch(() => undefined);
        return minted !== undefined;
      });
      const client = await connectClient(t, minted as NodeCredentials);
      client.publish(nodeStateSubject("n1"), TEST_PAYLOAD);
      await eventually("it hears", () => heard.length === 1);
    });

    test("fails if the NATS server refuses the gateway's keys, with an error that says so", async (t) => {
      const { seed } = createKey("account", systemRandom());
      await assert.rejects(openTestPlane(t, server, { accountSeed: seed }), (error: Error) => {
        assert.ok(error instanceof NatsSetupError);
        assert.match(error.message, /NATS at nats:.* refuses this gateway's keys/);
        return true;
      });
    });

    test("fails if the server's message limit is too low, or if it does not accept the system user", async (t) => {
      const small = await startNatsServer({ more: "max_payload: 64KB" });
      t.after(() => small.kill().then(() => small.remove()));
      await assert.rejects(
        openTestPlane(t, small),
        /accepts messages of at most 65536 bytes. Set its max_payload to 1MB/,
      );
      const { system } = createPlaneSetup({ url: server.url, random: seededRandom(1), nowMs: clock.now() });
      await assert.rejects(openTestPlane(t, server, { system }), /refuses this gateway's keys/);
    });

    test("connects when one of several addresses responds", async (t) => {
      const url = `nats://127.0.0.1:${await findFreePort()},${server.url}`;
      const plane = await openTestPlane(t, server, { url, publicUrl: server.url });
      await connectClient(t, await plane.mint("n1"));
    });
  });

  describe("with several gateways", () => {
    test("shows the same fleet to all gateways, and lets a node serve each of them", async (t) => {
      const planes = [await openTestPlane(t, server), await openTestPlane(t, server)] as const;
      const rosters = planes.map((plane) => newRoster(t, plane));
      // The credentials come from one of the gateways.
      const node = await connectClient(t, await planes[0].mint("n1"));
      node.subscribe(nodeSubject("n1"), {
        callback: (_, job) => node.publish(gatewaySubject(job.string(), "n1"), "done"),
      });
      node.publish(nodeStateSubject("n1"), state());
      await eventually("both know it", () => rosters.every((roster) => roster.nodes().length === 1));
      const answers: string[] = [];
      for (const [i, plane] of planes.entries()) {
        plane.subscribe(gatewayInboxSubject(`gw${i}`), (subject) => answers.push(subject));
        plane.publish(nodeSubject("n1"), Buffer.from(`gw${i}`));
      }
      await eventually("each has its answer", () => answers.length === 2);
      assert.deepEqual(answers.sort(), ["tg.g.gw0.n1", "tg.g.gw1.n1"]);

      await node.close();
      await eventually("both see it go", () => rosters.every((roster) => roster.nodes().length === 0));
    });

    test("reports nodes that are already connected, and their disconnects, to a gateway that starts later", async (t) => {
      const first = await openTestPlane(t, server);
      const node = await connectClient(t, await first.mint("n1"));
      node.subscribe(STATE_REQUEST_SUBJECT, { callback: () => node.publish(nodeStateSubject("n1"), state()) });
      await node.flush();
      const roster = newRoster(t, await openTestPlane(t, server));
      await eventually("it knows the node", () => roster.nodes().length === 1);
      await node.close();
      await eventually("it sees it go", () => roster.nodes().length === 0);
    });

    test("accepts credentials renewed after another gateway revoked the node, and refuses the earlier ones", async (t) => {
      const [one, two] = [await openTestPlane(t, server), await openTestPlane(t, server)];
      const old = await two.mint("n1");
      const client = await connectClient(t, old);
      await one.revoke("n1");
      await client.closed();
      await assert.rejects(connectClient(t, old), AUTHORIZATION_REFUSED);
      await connectClient(t, await two.mint("n1"));
    });

    test("keeps every revocation when gateways write concurrently", async (t) => {
      const planes = await Promise.all(Array.from({ length: 3 }, () => openTestPlane(t, server)));
      const nodes = Array.from({ length: 24 }, (_, i) => `n${i}`);
      const minted = await Promise.all(nodes.map((node) => (planes[0] as DispatchPlane).mint(node)));
      await Promise.all(
        nodes.map(async (node, i) => {
          // The rounds start at different times, so that each gateway needs several writes.
          await Promise.all(Array.from({ length: i % 5 }, () => planes[1]?.mint(node)));
          await planes[i % planes.length]?.revoke(node);
        }),
      );
      // If another gateway overwrote a revocation, the gateway that made it writes it again a few seconds later.
      for (const credential of minted) {
        await eventually("the credential is refused", () =>
          connectClient(t, credential).then(
            (client) => client.close().then(() => false),
            (error: Error) => AUTHORIZATION_REFUSED.test(error.message),
          ),
        );
      }
    });
  });

  test("keeps revocations when the server restarts", async (t) => {
    const plane = await openTestPlane(t, server);
    const minted = await plane.mint("n1");
    await plane.revoke("n1");
    await server.kill();
    await server.start();
    await assert.rejects(connectClient(t, minted), AUTHORIZATION_REFUSED);
  });

  test("delivers a node's last messages before it reports that the node disconnected", async (t) => {
    const plane = await openTestPlane(t, server);
    for (let round = 0; round < 20; round++) {
      const events: string[] = [];
      const node = `n${round}`;
      const leave = plane.subscribe(nodeStateSubject(node), (_, payload) =>
        events.push(Buffer.from(payload).toString()),
      );
      const gone = untilGone(plane, node).then(() => events.push("gone"));
      const client = await connectClient(t, await plane.mint(node));
      for (let i = 0; i < 50; i++) client.publish(nodeStateSubject(node), String(i));
      await client.flush();
      await client.close();
      await gone;
      assert.deepEqual(events, [...Array.from({ length: 50 }, (_, i) => String(i)), "gone"]);
      leave();
    }
  });
});

describe("a cluster of NATS servers", { skip: skipWithoutNats }, () => {
  test("carries messages, disconnects and revocations between a gateway and a node on different servers", async (t) => {
    const routes = [await findFreePort(), await findFreePort()] as const;
    const cluster = (own: number, other: number): string =>
      `cluster { name: tollgate, listen: "127.0.0.1:${own}", routes: ["nats-route://127.0.0.1:${other}"] }`;
    const one = await startNatsServer({ more: cluster(routes[0], routes[1]) });
    const two = await startNatsServer({ setup: one.setup, more: cluster(routes[1], routes[0]) });
    t.after(async () => {
      for (const server of [one, two]) {
        await server.kill();
        await server.remove();
      }
    });
    await eventually("they found each other", async () => /Route connection created/.test(await two.log()));
    // The checks for hanging servers run when the test moves this clock.
    const checks = manualClock();
    const plane = await openTestPlane(t, one, { publicUrl: two.url, clock: { ...clock, every: checks.every } });
    const asked = (what: string, check: () => boolean): Promise<unknown> =>
      eventually(what, () => {
        checks.advance(PING_SERVERS_EVERY_MS);
        return check();
      });
    const heard: string[] = [];
    plane.subscribe(nodeStateSubject("n1"), (subject) => heard.push(subject));

    const minted = await plane.mint("n1");
    assert.equal(minted.url, two.url);
    const node = await connectClient(t, minted);
    await eventually("the node is heard", () => {
      node.publish(nodeStateSubject("n1"), TEST_PAYLOAD);
      return heard.length > 0;
    });
    const states = new Set<string>();
    plane.subscribe(ALL_NODE_STATES_SUBJECT, (subject) => states.add(subject));
    const servers = new Set<string | undefined>();
    plane.subscribe(pingAnswerSubject("*", "*"), (_subject, payload) => servers.add(readServerIdOfPing(payload)));
    await asked("both answer", () => servers.size === 2);
    await eventually("the node is reached", () => plane.reaches("n1"));
    two.freeze();
    await asked("its server does not answer, and the gateway's own does", () => !plane.reaches("n1") && plane.hears);
    two.thaw();
    await asked("it is reached again", () => plane.reaches("n1"));
    node.publish(nodeStateSubject("n1"), TEST_PAYLOAD);
    await eventually("a state came", () => states.size > 0);
    assert.deepEqual([...states], [nodeStateSubject("n1")], "what servers answer is no node's state");

    const gone = untilGone(plane, "n1");
    await plane.revoke("n1");
    assert.match(String(await node.closed()), /Authentication Revoked/);
    await gone;
    await assert.rejects(connectClient(t, minted), AUTHORIZATION_REFUSED);

    // A node that renews its credentials counts as moved until its old connection ends.
    const renewed = await plane.mint("n1");
    const old = await connectClient(t, renewed);
    const orphan = await connectClient(t, renewed);
    await eventually("it moved", () => plane.movedAt("n1") !== undefined);
    await old.close();
    await eventually("it renewed", () => plane.movedAt("n1") === undefined);

    // The node's server dies without an event. After the node connects to another server, its next disconnect is
    // reported again.
    await two.kill();
    await orphan.closed();
    const elsewhere = { ...renewed, url: one.url };
    const second = await connectClient(t, elsewhere);
    await eventually("it moved", () => plane.movedAt("n1") !== undefined);
    const third = await connectClient(t, elsewhere);
    await second.close();
    const end = untilGone(plane, "n1");
    await third.close();
    await end;
  });
});

function untilGone(plane: DispatchPlane, node: string): Promise<void> {
  return new Promise((resolve) => plane.onNodeGone((gone) => gone === node && resolve()));
}

const untilAway = (plane: DispatchPlane): Promise<void> => new Promise((resolve) => plane.onAway(resolve));
const untilBack = (plane: DispatchPlane): Promise<void> => new Promise((resolve) => plane.onBack(resolve));

function newRoster(t: TestContext, plane: DispatchPlane): Roster {
  const nodeRecord = async () => ({ nodeId: "n" as Uuid, hostAccountId: "h" as Uuid, models: ["m"] });
  const roster = new Roster({
    plane,
    clock: manualClock(),
    random: seededRandom(1),
    log: createLog("silent"),
    nodeRecord,
  });
  t.after(() => roster.close());
  return roster;
}

const state = (): Uint8Array =>
  encodeFrame({
    kind: "state",
    state: { protocol: "1.0", agent: "test", slots: 4, busy: 0, models: ["m"], draining: false },
  });

type Line = { msg: string; reason?: string };

function recordingLog(): { log: Log; lines: () => Line[] } {
  const lines: Line[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  return { log: createLog("info", sink), lines: () => lines };
}
