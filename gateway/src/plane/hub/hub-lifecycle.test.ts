/** Tests that the hub starts and stops without leaks. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, test } from "node:test";
import { nodeStateSubject, nodeSubject } from "@tollgate/protocol/nats-subjects.ts";
import { createLog } from "../../base/log.ts";
import { systemRandom } from "../../base/random.ts";
import { manualClock } from "../../base/testing.ts";
import { openHub } from "./hub.ts";
import { connectClient, connectRawPeer, openTestHub, RawPeer, waitForDisconnectedNode } from "./testing-hub.ts";

const clock = manualClock();
const x = Buffer.from("x");

describe("connection lifecycle", () => {
  test("reports a node as disconnected when its last connection ends, and lets it connect again", async (t) => {
    const hub = await openTestHub(t, { clock });
    const credentials = await hub.mint("n1");
    const gone: string[] = [];
    hub.onNodeGone((nodeId) => gone.push(nodeId));
    const first = await connectClient(t, credentials);
    const second = connectRawPeer(t, hub);
    await second.authenticate(credentials);
    const bystander = await connectClient(t, await hub.mint("n2"));

    await first.close();
    await bystander.flush();
    assert.deepEqual(gone, []);
    const ended = waitForDisconnectedNode(hub);
    second.socket.destroy();
    assert.equal(await ended, "n1");
    assert.deepEqual(gone, ["n1"]);

    const back = await connectClient(t, credentials);
    const again = waitForDisconnectedNode(hub);
    await back.close();
    assert.equal(await again, "n1");
    assert.deepEqual(gone, ["n1", "n1"]);
  });

  test("reports no disconnected node when a client ends that never authenticated", async (t) => {
    const hub = await openTestHub(t, { clock });
    const gone: string[] = [];
    hub.onNodeGone((nodeId) => gone.push(nodeId));
    const stranger = connectRawPeer(t, hub);
    stranger.say("hello\r\n");
    await stranger.closed;
    const client = await connectClient(t, await hub.mint("n1"));
    const ended = waitForDisconnectedNode(hub);
    await client.close();
    await ended;
    assert.deepEqual(gone, ["n1"]);
  });

  test("calls disconnect listeners only after the call that noticed the disconnect has returned", async (t) => {
    const hub = await openTestHub(t, { clock, limits: { outboundBytesMax: 1024 } });
    const peer = connectRawPeer(t, hub);
    await peer.authenticate(await hub.mint("n1"));
    peer.say("SUB tg.n.n1 1\r\nPING\r\n");
    await peer.hears("PONG", peer.heard.length);
    let publishing = false;
    const order = new Promise<boolean>((resolve) => hub.onNodeGone(() => resolve(publishing)));
    publishing = true;
    hub.publish(nodeSubject("n1"), Buffer.alloc(4096));
    publishing = false;
    assert.equal(await order, false);
  });

  test("lets a client reconnect by itself after a restart of the hub with the same account and port", async (t) => {
    const before = await openTestHub(t, { clock });
    const client = await connectClient(t, await before.mint("n1"), {
      reconnect: true,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 10,
      reconnectJitter: 0,
    });
    const jobs = client.subscribe(nodeSubject("n1"));
    const reconnected = (async () => {
      for await (const status of client.status()) if (status.type === "reconnect") return;
    })();
    await before.close();

    const after = await openTestHub(t, { clock, accountSeed: before.accountSeed, port: before.port });
    const heard = new Promise<string>((resolve) => after.subscribe(nodeStateSubject("n1"), resolve));
    await reconnected;
    client.publish(nodeStateSubject("n1"), x);
    assert.equal(await heard, nodeStateSubject("n1"));
    after.publish(nodeSubject("n1"), x);
    for await (const job of jobs) {
      assert.equal(job.subject, nodeSubject("n1"));
      break;
    }
  });
});

describe("hub lifecycle", () => {
  test("throws an error of one line if its port is in use", async (t) => {
    const hub = await openTestHub(t, { clock });
    await assert.rejects(openTestHub(t, { clock, port: hub.port }), {
      message: `Port ${hub.port} on 127.0.0.1 is already in use. Choose another with PLANE_PORT.`,
    });
  });

  test("closes all connections without reporting nodes as disconnected, and may be closed twice", async (t) => {
    const hub = await openTestHub(t, { clock });
    const gone: string[] = [];
    hub.onNodeGone((nodeId) => gone.push(nodeId));
    const client = await connectClient(t, await hub.mint("n1"));
    const stranger = connectRawPeer(t, hub, { allowHalfOpen: true });
    await stranger.hears("INFO");
    await Promise.all([hub.close(), hub.close(), client.closed()]);
    assert.deepEqual(gone, []);
    hub.publish(nodeSubject("n1"), x);
    await assert.rejects(connectClient(t, await hub.mint("n1")), /refused/);
  });

  test("lets the process exit after the hub has closed, although clients stay connected", async (t) => {
    const script = `
      import { openHub } from ${JSON.stringify(import.meta.resolve("./hub.ts"))};
      import { systemClock as clock } from ${JSON.stringify(import.meta.resolve("../../base/clock.ts"))};
      import { systemRandom } from ${JSON.stringify(import.meta.resolve("../../base/random.ts"))};
      import { createLog } from ${JSON.stringify(import.meta.resolve("../../base/log.ts"))};
      const log = createLog("silent");
      const hub = await openHub({ host: "127.0.0.1", port: 0, clock, random: systemRandom(), log });
      process.stdout.write(JSON.stringify({ port: hub.port, credentials: await hub.mint("n1") }));
      process.stdin.once("data", async () => { await hub.close(); process.stdin.destroy(); });
    `;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    t.after(() => child.kill());
    const exited = once(child, "exit");
    const [line] = await once(child.stdout, "data");
    const { port, credentials } = JSON.parse(String(line));
    const client = await connectClient(t, credentials);
    const stranger = new RawPeer({ port }, { allowHalfOpen: true });
    t.after(() => stranger.socket.destroy());
    await stranger.hears("INFO");
    child.stdin.write("close\n");
    assert.deepEqual(await exited, [0, null]);
    await client.closed();
  });

  test("writes an IPv6 address in the form of a URL", async (t) => {
    const options = { port: 0, clock, random: systemRandom(), log: createLog("silent") };
    const hub = await openHub({ ...options, host: "::1" }).catch((error: Error) => error);
    if (hub instanceof Error) return t.skip(hub.message);
    t.after(() => hub.close());
    assert.equal(hub.url, `nats://[::1]:${hub.port}`);
    await connectClient(t, await hub.mint("n1"));
  });
});
