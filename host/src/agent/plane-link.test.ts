import assert from "node:assert/strict";
import { test } from "node:test";
import { waitOneTurn } from "../clock.ts";
import type { Engine } from "../engines/engine.ts";
import { scriptedEngine } from "../engines/scripted-engine.ts";
import { AgentHarness, CREDENTIAL_LIFETIME_MS } from "../testing/agent-harness.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { PlaneRefusal } from "./plane-connection.ts";

const types = (harness: AgentHarness): string[] => harness.statuses.map(({ type }) => type);
const jwts = (harness: AgentHarness): string[] => harness.plane.connections.map(({ credentials }) => credentials.jwt);

/** Waits until pending promises and callbacks of the event loop are done. */
async function settle(harness: AgentHarness): Promise<void> {
  for (let i = 0; i < 5; i++) await waitOneTurn(harness.clock);
}

/** An engine that outputs one word, and a second one when `gate` resolves. */
function gated(gate: Promise<void>): Engine {
  return {
    ...scriptedEngine({ models: ["tiny-3b"], clock: new ManualClock() }),
    async generate(_job, sink) {
      sink.delta("answer", "a");
      await gate;
      sink.delta("answer", " b");
      return { finish: "stop" };
    },
  };
}

test("a lost connection ends its jobs, and the agent reconnects with the same credentials", async () => {
  const harness = new AgentHarness();
  await harness.online();
  const job = harness.script({ text: "a b c", stall_after: 1 });
  await harness.plane.until(() => harness.text(job) === "a");
  harness.plane.connections[0]?.lose(new Error("network"));
  await settle(harness);
  harness.clock.advance(100);
  await settle(harness);
  assert.deepEqual(harness.states().at(-1)?.busy, 0);
  assert.deepEqual(types(harness), ["online", "offline", "online"]);
  assert.deepEqual(jwts(harness), ["jwt-1", "jwt-1"]);
  assert.deepEqual(harness.kinds(job), ["accepted", "deltas"]);
  await harness.agent.stop();
});

test("an agent that cannot reconnect fetches new credentials early, and so learns the new address of its plane", async () => {
  const harness = new AgentHarness();
  await harness.online();
  harness.planeUrl = "nats://elsewhere";
  harness.plane.url = harness.planeUrl;
  harness.plane.connections[0]?.lose(new Error("network"));
  // The gateway may be unreachable too. The agent then tries the old address again.
  harness.credentialFailures.push(new Error("no gateway"), new Error("no gateway"));
  const dialled = harness.plane.dials;
  for (let waitedMs = 0; waitedMs < CREDENTIAL_LIFETIME_MS / 10 && harness.plane.open.length === 0; waitedMs += 5_000) {
    await settle(harness);
    harness.clock.advance(5_000);
  }
  await settle(harness);
  assert.equal(harness.plane.open[0]?.credentials.url, "nats://elsewhere");
  assert.ok(harness.plane.dials - dialled > 5, "it dials whether or not credentials come");
  assert.ok(harness.issued <= 5, `${harness.issued} times asked for credentials`);
  assert.deepEqual(types(harness).at(-1), "online");
  await harness.agent.stop();
});

test("the agent never stops trying to reconnect, with growing pauses up to a limit", async () => {
  const harness = new AgentHarness();
  harness.plane.refusals.push(...Array.from({ length: 12 }, () => new Error("connection refused")));
  harness.agent.start();
  const waits: number[] = [];
  for (let i = 0; i < 12; i++) {
    await settle(harness);
    const wait = harness.clock.nextInMs ?? 0;
    // Only the first waits are compared below, because a later one may be the wait for the next state report, which is
    // due every five seconds.
    waits.push(wait);
    harness.clock.advance(15_000);
  }
  await harness.plane.until(() => harness.plane.open.length === 1);
  assert.deepEqual(waits.slice(0, 5), [100, 200, 400, 800, 1600]);
  assert.equal(types(harness).filter((type) => type === "trouble").length, 12);
  await harness.agent.stop();
});

test("the agent fetches new credentials when its own are refused, while connecting or later", async () => {
  const harness = new AgentHarness();
  harness.plane.refusals.push(new PlaneRefusal("Authorization Violation"));
  harness.agent.start();
  await settle(harness);
  harness.clock.advance(100);
  await harness.plane.until(() => harness.plane.open.length === 1);
  assert.deepEqual(jwts(harness), ["jwt-2"]);
  await settle(harness);
  harness.plane.connections[0]?.lose(new PlaneRefusal("User Authentication Expired"));
  await settle(harness);
  harness.clock.advance(100);
  await harness.plane.until(() => harness.plane.open.length === 1);
  assert.deepEqual(jwts(harness), ["jwt-2", "jwt-3"]);
  await harness.agent.stop();
});

test("the agent renews credentials at two thirds of their lifetime and stays reachable", async () => {
  const harness = new AgentHarness();
  await harness.online();
  const opened = harness.plane.until(() => harness.plane.connections[1]);
  harness.clock.advance((CREDENTIAL_LIFETIME_MS * 2) / 3);
  await opened;
  assert.equal(harness.plane.connections[0]?.isOpen, true, "the old connection outlives the opening of the new one");
  await settle(harness);
  assert.deepEqual(
    harness.plane.connections.map(({ isOpen }) => isOpen),
    [false, true],
  );
  assert.deepEqual(jwts(harness), ["jwt-1", "jwt-2"]);
  assert.deepEqual(types(harness), ["online"]);
  assert.equal((await harness.plane.ending(harness.offer("hi"))).kind, "done");
  await harness.agent.stop();
});

test("the agent delays the change to a new connection until a running job has ended", async () => {
  const gate = Promise.withResolvers<void>();
  const harness = new AgentHarness({ engine: gated(gate.promise) });
  await harness.online();
  const job = harness.offer("hi");
  harness.clock.advance((CREDENTIAL_LIFETIME_MS * 2) / 3);
  await settle(harness);
  assert.equal(harness.plane.connections.length, 1);
  gate.resolve();
  await harness.plane.ending(job);
  await settle(harness);
  harness.clock.advance(0);
  await settle(harness);
  assert.deepEqual(
    harness.plane.connections.map(({ isOpen }) => isOpen),
    [false, true],
  );
  assert.ok(
    harness.plane.heard.every(
      ({ frame, connection }) => frame?.kind === "state" || connection === harness.plane.connections[0],
    ),
  );
  await harness.agent.stop();
});

test("the output of a job that outlives its connection continues on the new connection, in order", async () => {
  const gate = Promise.withResolvers<void>();
  const harness = new AgentHarness({ engine: gated(gate.promise) });
  await harness.online();
  const job = harness.offer("hi");
  await harness.plane.until(() => harness.text(job) === "a");
  harness.clock.advance((CREDENTIAL_LIFETIME_MS * 2) / 3);
  await settle(harness);
  assert.equal(harness.plane.connections.length, 1);
  harness.clock.advance(CREDENTIAL_LIFETIME_MS / 6);
  await settle(harness);
  assert.deepEqual(
    harness.plane.connections.map(({ isOpen }) => isOpen),
    [false, true],
  );
  gate.resolve();
  assert.deepEqual(await harness.plane.ending(job), { kind: "done", job, seq: 2, finish: "stop" });
  assert.equal(harness.text(job), "a b");
  await harness.agent.stop();
});

test("the agent retries when renewing its credentials fails", async () => {
  const harness = new AgentHarness();
  await harness.online();
  harness.credentialFailures.push(new Error("gateway is away"));
  harness.clock.advance((CREDENTIAL_LIFETIME_MS * 2) / 3);
  await settle(harness);
  harness.clock.advance(10_000);
  await settle(harness);
  assert.deepEqual(jwts(harness), ["jwt-1", "jwt-3"]);
  await harness.agent.stop();
});

test("the agent stops immediately on request while the dispatch plane is unreachable", async () => {
  const harness = new AgentHarness();
  harness.plane.refusals.push(new Error("connection refused"));
  harness.agent.start();
  await settle(harness);
  await harness.agent.stop();
  assert.deepEqual(harness.plane.connections, []);
});
