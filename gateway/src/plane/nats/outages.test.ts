/**
 * Tests requests in flight when a part of the plane fails, with real servers and nodes that behave like the agent. The
 * gateway's clock moves only when a test moves it, so that no node looks silent on a busy machine.
 */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { NatsConnection } from "@nats-io/transport-node";
import { decodeFrame, encodeFrame } from "@tollgate/protocol/frame-codec.ts";
import {
  gatewaySubject,
  nodeStateSubject,
  nodeSubject,
  STATE_REQUEST_SUBJECT,
} from "@tollgate/protocol/nats-subjects.ts";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import type { Uuid } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { type ManualClock, manualClock, seededRandom } from "../../base/testing.ts";
import type { DispatchSink } from "../../dispatch/dispatch-request.ts";
import { type Dispatcher, openDispatcher } from "../../dispatch/dispatcher.ts";
import { Roster } from "../../dispatch/roster.ts";
import type { Attempt } from "../../dispatch/running-attempt.ts";
import { TextSink } from "../../dispatch/testing.ts";
import { connectClient } from "../hub/testing-hub.ts";
import type { DispatchPlane, NodeCredentials } from "../plane.ts";
import { openBreakableConnection } from "./testing-breakable-connection.ts";
import { type NatsServer, openTestPlane, skipWithoutNats, startNatsServer } from "./testing-nats-server.ts";

/** The plane's interval of attempts to reconnect. */
const RETRY_MS = 50;
const GATEWAY = "gw1";
const MODEL = "m";

describe("partial outages of the plane while requests run", { skip: skipWithoutNats }, () => {
  test("retries requests without delivered output when the gateway loses its connection, and the nodes stop the old jobs", async (t) => {
    const server = await startNatsServer();
    t.after(() => server.kill().then(server.remove));
    const cable = await openBreakableConnection(t, server.port);
    const clock = handClock();
    const plane = await openTestPlane(t, server, { url: cable.url, publicUrl: server.url, clock });
    const { dispatcher, states } = openGateway(t, plane, clock);
    const node = new Node(await plane.mint("n1"));
    await node.connect(t);
    await eventually("the node is known", () => dispatcher.slots(MODEL) === 1);

    const [kept, streamed] = [new TextSink(), new TextSink({ streams: true })];
    for (const [i, sink] of [kept, streamed].entries()) {
      const ended = run(dispatcher, sink, i);
      await eventually("it runs", () => node.running.size === 1 && sink.text !== "");
      const [job] = node.running;
      const away = new Promise<void>((resolve) => plane.onAway(resolve));
      cable.cut();
      await away;
      clock.advance(RETRY_MS);
      if (sink.reachedClient) {
        assert.equal((await ended).end, "cut");
      } else {
        await eventually("it is tried again", () => node.running.size === 1 && !node.running.has(job as string));
        node.finish();
        assert.equal((await ended).end, "finished");
        assert.equal(sink.text, "half whole");
      }
      await eventually("the node runs nothing", () => node.running.size === 0);
      await eventually("the gateway knows", () => dispatcher.slots(MODEL) === 1);
    }
    assert.deepEqual(states, ["cut null", "finished null", "cut null"]);
  });

  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    test(`retries a node's jobs after the node reconnects, when its NATS server ends by ${signal}`, async (t) => {
      const servers = await startCluster(t, 3);
      const [own, first, second] = servers as [NatsServer, NatsServer, NatsServer];
      const clock = handClock();
      // The checks for hanging servers run on the machine's clock, because the servers' answers take real time.
      let asked = 0;
      const every: Clock["every"] = (ms, run) =>
        systemClock.every(ms, () => {
          asked += 1;
          run();
        });
      const plane = await openTestPlane(t, own, { publicUrl: first.url, clock: { ...clock, every } });
      const { dispatcher, states } = openGateway(t, plane, clock);
      const node = new Node(await plane.mint("n1"));
      await node.connect(t);
      await eventually("every server has answered", () => asked >= 4);
      await eventually("the node is known", () => {
        node.report();
        return dispatcher.slots(MODEL) === 1;
      });
      const sink = new TextSink();
      const ended = run(dispatcher, sink, 0);
      await eventually("it runs", () => node.running.size === 1 && sink.text !== "");
      const lost = node.connection?.closed();
      if (signal === "SIGKILL") await first.kill();
      else first.terminate();
      await lost;
      node.credentials = { ...node.credentials, url: second.url };
      await node.connect(t);
      // No other node confirms that the server is dead, so the gateway must find it unresponsive itself.
      await eventually("the gateway knows that the server is dead", () => {
        const server = plane.movedFrom("n1");
        return server !== undefined && !plane.answers(server);
      });
      // A node's report can get lost while a server does not have its peers' subscriptions. The agent repeats it every
      // few seconds.
      await eventually("it is tried again", () => {
        if (node.running.size === 0) node.report();
        clock.advance(100);
        return node.running.size === 1;
      });
      node.finish();
      assert.equal((await ended).end, "finished");
      assert.deepEqual(states, ["cut null", "finished null"]);
    });
  }
});

/** A clock that the test moves. Each reading adds a microsecond, so that no two events have the same time. */
function handClock(): ManualClock {
  const clock = manualClock(Date.now());
  let looks = 0;
  return { ...clock, monotonic: () => clock.monotonic() + ++looks / 1000 };
}

/** Like the agent, it drops its jobs when it loses its connection, and reports that first on the next connection. */
class Node {
  credentials: NodeCredentials;
  connection: NatsConnection | undefined;
  readonly running = new Set<string>();

  constructor(credentials: NodeCredentials) {
    this.credentials = credentials;
  }

  async connect(t: TestContext): Promise<void> {
    this.running.clear();
    this.connection = await connectClient(t, this.credentials);
    this.connection.subscribe(nodeSubject("n1"), { callback: (_, { data }) => this.#hear(decodeFrame(data)) });
    this.connection.subscribe(STATE_REQUEST_SUBJECT, { callback: () => this.report() });
    this.report();
  }

  report(): void {
    const state = {
      protocol: "1.0",
      agent: "test",
      slots: 1,
      busy: this.running.size,
      models: [MODEL],
      draining: false,
    };
    this.connection?.publish(nodeStateSubject("n1"), encodeFrame({ kind: "state", state }));
  }

  finish(): void {
    for (const job of this.running) {
      this.#say({ kind: "deltas", deltas: [{ job, seq: 1, channel: "answer", text: " whole" }] });
      this.#say({ kind: "done", job, seq: 2, finish: "stop" });
    }
    this.running.clear();
    this.report();
  }

  #hear(frame: ReturnType<typeof decodeFrame>): void {
    if (frame.kind === "cancel") {
      this.running.delete(frame.job);
      this.report();
    } else if (frame.kind === "job") {
      const { job } = frame.header;
      this.running.add(job);
      this.#say({ kind: "accepted", job });
      this.#say({ kind: "deltas", deltas: [{ job, seq: 0, channel: "answer", text: "half" }] });
    }
  }

  #say(frame: Parameters<typeof encodeFrame>[0]): void {
    this.connection?.publish(gatewaySubject(GATEWAY, "n1"), encodeFrame(frame));
  }
}

function openGateway(
  t: TestContext,
  plane: DispatchPlane,
  clock: ManualClock,
): { dispatcher: Dispatcher; states: string[] } {
  const nodeRecord = async () => ({ nodeId: "n" as Uuid, hostAccountId: "h" as Uuid, models: [MODEL] });
  const log = createLog("silent");
  const roster = new Roster({ plane, clock, random: seededRandom(1), log, nodeRecord });
  const dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId: GATEWAY, deadlineMs: 60_000 });
  t.after(() => {
    dispatcher.close();
    roster.close();
  });
  const states: string[] = [];
  dispatcher.onAttempt(({ state, failure }: Attempt) => states.push(`${state} ${failure}`));
  return { dispatcher, states };
}

const run = (dispatcher: Dispatcher, sink: DispatchSink, nth: number) =>
  dispatcher.run(
    {
      request: `0${nth}dfk3zq9v8n2x4m7t1c5w0rbe`,
      header: { model: MODEL, endpoint: "chat", stream: true, output_tokens_max: 9, sampling: {} },
      body: { messages: [{ role: "user", content: "hi" }] },
    },
    sink,
    new AbortController().signal,
  );

async function startCluster(t: TestContext, size: number): Promise<NatsServer[]> {
  const ports = await Promise.all(Array.from({ length: size }, () => findFreePort()));
  const routes = ports.map((port) => `"nats-route://127.0.0.1:${port}"`).join(", ");
  const servers: NatsServer[] = [];
  for (const port of ports) {
    const more = `cluster { name: tollgate, listen: "127.0.0.1:${port}", routes: [${routes}] }`;
    const [first] = servers;
    servers.push(await startNatsServer({ more, ...(first !== undefined && { setup: first.setup }) }));
  }
  t.after(async () => {
    for (const server of servers) {
      await server.kill();
      await server.remove();
    }
  });
  return servers;
}
