import assert from "node:assert/strict";
import { test } from "node:test";
import { turn } from "../clock.ts";
import type { Engine } from "../engines/engine.ts";
import { scriptedEngine } from "../engines/scripted.ts";
import { AgentBench, CREDENTIAL_LIFE_MS } from "../testing/bench.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { PlaneRefusal } from "./plane.ts";

const types = (bench: AgentBench): string[] => bench.statuses.map(({ type }) => type);
const jwts = (bench: AgentBench): string[] => bench.plane.connections.map(({ credentials }) => credentials.jwt);

/** Lets what was set in motion come to rest: promises, and callbacks of the event loop. */
async function settle(bench: AgentBench): Promise<void> {
  for (let i = 0; i < 5; i++) await turn(bench.clock);
}

/** Says one word, and another when the gate opens. */
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

test("a lost connection ends its jobs, and the agent comes back by itself with the same credentials", async () => {
  const bench = new AgentBench();
  await bench.online();
  const job = bench.script({ text: "a b c", stall_after: 1 });
  await bench.plane.until(() => bench.text(job) === "a");
  bench.plane.connections[0]?.lose(new Error("network"));
  await settle(bench);
  bench.clock.advance(100);
  await settle(bench);
  assert.deepEqual(bench.states().at(-1)?.busy, 0);
  assert.deepEqual(types(bench), ["online", "offline", "online"]);
  assert.deepEqual(jwts(bench), ["jwt-1", "jwt-1"]);
  assert.deepEqual(bench.kinds(job), ["accepted", "deltas"]);
  await bench.agent.stop();
});

test("it tries for ever, waiting longer each time up to a bound", async () => {
  const bench = new AgentBench();
  bench.plane.refusals.push(...Array.from({ length: 12 }, () => new Error("connection refused")));
  bench.agent.start();
  const waits: number[] = [];
  for (let i = 0; i < 12; i++) {
    await settle(bench);
    const wait = bench.clock.nextInMs ?? 0;
    // The state is published every five seconds besides; only the time until the next try matters here.
    waits.push(wait);
    bench.clock.advance(15_000);
  }
  await bench.plane.until(() => bench.plane.open.length === 1);
  assert.deepEqual(waits.slice(0, 5), [100, 200, 400, 800, 1600]);
  assert.equal(types(bench).filter((type) => type === "trouble").length, 12);
  await bench.agent.stop();
});

test("refused credentials are replaced, at dialling and on a live connection", async () => {
  const bench = new AgentBench();
  bench.plane.refusals.push(new PlaneRefusal("Authorization Violation"));
  bench.agent.start();
  await settle(bench);
  bench.clock.advance(100);
  await bench.plane.until(() => bench.plane.open.length === 1);
  assert.deepEqual(jwts(bench), ["jwt-2"]);
  await settle(bench);
  bench.plane.connections[0]?.lose(new PlaneRefusal("User Authentication Expired"));
  await settle(bench);
  bench.clock.advance(100);
  await bench.plane.until(() => bench.plane.open.length === 1);
  assert.deepEqual(jwts(bench), ["jwt-2", "jwt-3"]);
  await bench.agent.stop();
});

test("credentials are renewed at two thirds of their life, without the node ever being away", async () => {
  const bench = new AgentBench();
  await bench.online();
  const opened = bench.plane.until(() => bench.plane.connections[1]);
  bench.clock.advance((CREDENTIAL_LIFE_MS * 2) / 3);
  await opened;
  assert.equal(bench.plane.connections[0]?.isOpen, true, "the old connection outlives the opening of the new one");
  await settle(bench);
  assert.deepEqual(
    bench.plane.connections.map(({ isOpen }) => isOpen),
    [false, true],
  );
  assert.deepEqual(jwts(bench), ["jwt-1", "jwt-2"]);
  assert.deepEqual(types(bench), ["online"]);
  assert.equal((await bench.plane.ending(bench.offer("hi"))).kind, "done");
  await bench.agent.stop();
});

test("a running job keeps its connection until it ends", async () => {
  const gate = Promise.withResolvers<void>();
  const bench = new AgentBench({ engine: gated(gate.promise) });
  await bench.online();
  const job = bench.offer("hi");
  bench.clock.advance((CREDENTIAL_LIFE_MS * 2) / 3);
  await settle(bench);
  assert.equal(bench.plane.connections.length, 1);
  gate.resolve();
  await bench.plane.ending(job);
  await settle(bench);
  bench.clock.advance(0);
  await settle(bench);
  assert.deepEqual(
    bench.plane.connections.map(({ isOpen }) => isOpen),
    [false, true],
  );
  assert.ok(
    bench.plane.heard.every(
      ({ frame, connection }) => frame?.kind === "state" || connection === bench.plane.connections[0],
    ),
  );
  await bench.agent.stop();
});

test("a job that runs too long for that is carried over, in order", async () => {
  const gate = Promise.withResolvers<void>();
  const bench = new AgentBench({ engine: gated(gate.promise) });
  await bench.online();
  const job = bench.offer("hi");
  await bench.plane.until(() => bench.text(job) === "a");
  bench.clock.advance((CREDENTIAL_LIFE_MS * 2) / 3);
  await settle(bench);
  assert.equal(bench.plane.connections.length, 1);
  bench.clock.advance(CREDENTIAL_LIFE_MS / 6);
  await settle(bench);
  assert.deepEqual(
    bench.plane.connections.map(({ isOpen }) => isOpen),
    [false, true],
  );
  gate.resolve();
  assert.deepEqual(await bench.plane.ending(job), { kind: "done", job, seq: 2, finish: "stop" });
  assert.equal(bench.text(job), "a b");
  await bench.agent.stop();
});

test("a renewal that fails is tried again", async () => {
  const bench = new AgentBench();
  await bench.online();
  bench.credentialFailures.push(new Error("gateway is away"));
  bench.clock.advance((CREDENTIAL_LIFE_MS * 2) / 3);
  await settle(bench);
  bench.clock.advance(10_000);
  await settle(bench);
  assert.deepEqual(jwts(bench), ["jwt-1", "jwt-3"]);
  await bench.agent.stop();
});

test("stopping while the plane is away ends at once", async () => {
  const bench = new AgentBench();
  bench.plane.refusals.push(new Error("connection refused"));
  bench.agent.start();
  await settle(bench);
  await bench.agent.stop();
  assert.deepEqual(bench.plane.connections, []);
});
