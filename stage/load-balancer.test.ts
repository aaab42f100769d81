/** Tests the load balancer of the test suites, because its errors would look like errors of a gateway. */
import assert from "node:assert/strict";
import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  request as openRequest,
  type RequestListener,
  type Server,
} from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { manualClock } from "../gateway/src/base/testing.ts";
import { type Balancer, READINESS_CHECK_EVERY_MS, startBalancer } from "./load-balancer.ts";
import { eventually } from "./wait.ts";

async function listening(answer: RequestListener): Promise<Server> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}
const portOf = (server: Server): number => (server.address() as AddressInfo).port;

class StandIn {
  isReady = true;
  requests = 0;
  looks = 0;
  /** While set, readiness checks get no answer. */
  isSilent = false;
  readonly port: number;
  readonly internalPort: number;
  readonly #servers: Server[];

  static async start(name: string): Promise<StandIn> {
    const internal = await listening((_request, response) => {
      standIn.looks += 1;
      if (!standIn.isSilent) response.writeHead(standIn.isReady ? 200 : 503).end();
    });
    const open = await listening(async (request, response) => {
      standIn.requests += 1;
      if (request.url === "/breaks") return void request.socket.destroy();
      response.writeHead(200, { "x-gateway": name, connection: "close" });
      response.flushHeaders();
      for await (const piece of request) response.write(piece);
      if (request.url === "/cut") return void request.socket.destroy();
      response.end();
    });
    const standIn = new StandIn([open, internal]);
    return standIn;
  }

  private constructor(servers: [Server, Server]) {
    this.#servers = servers;
    [this.port, this.internalPort] = [portOf(servers[0]), portOf(servers[1])];
  }

  /** Refuses connections, although the last readiness check reported that the gateway is ready. */
  refuse(): void {
    this.#servers[0]?.close();
  }

  close(): void {
    for (const server of this.#servers) {
      server.close();
      server.closeAllConnections();
    }
  }
}

describe("load balancer", () => {
  let a: StandIn;
  let b: StandIn;
  let balancer: Balancer;
  before(async () => {
    [a, b] = [await StandIn.start("a"), await StandIn.start("b")];
    balancer = await startBalancer({ gateways: () => [a, b] });
  });
  after(async () => {
    await balancer?.close();
    for (const gateway of [a, b]) gateway?.close();
  });

  const post = (path: string, body = ""): Promise<Response> =>
    fetch(`${balancer.url}${path}`, { method: "POST", body });
  const servedBy = async (count: number): Promise<Set<string | null>> => {
    const answers = [];
    for (let n = 0; n < count; n++) answers.push(await post("/", "x"));
    await Promise.all(answers.map((answer) => answer.text()));
    return new Set(answers.map(({ headers }) => headers.get("x-gateway")));
  };

  test("forwards requests to gateways in turn and keeps the client's connection", async () => {
    assert.equal(balancer.ready(), 2);
    assert.deepEqual(await servedBy(4), new Set(["a", "b"]));
    const { headers } = await post("/");
    assert.equal(headers.get("connection"), "keep-alive");
  });

  test("relays bytes in both directions as they arrive", async () => {
    const asked = openRequest(`${balancer.url}/`, { method: "POST" });
    asked.flushHeaders();
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    for (const word of ["one", "two"]) {
      asked.write(word);
      assert.equal(String((await once(answer, "data"))[0]), word);
    }
    asked.end();
    await once(answer, "end");
  });

  test("forwards nothing to a gateway that is not ready, and returns 503 when no gateway is ready", async () => {
    a.isReady = false;
    await eventually("it was noticed", () => balancer.ready() === 1);
    assert.deepEqual(await servedBy(4), new Set(["b"]));
    b.isReady = false;
    await eventually("it was noticed", () => balancer.ready() === 0);
    const refused = await post("/");
    assert.deepEqual([refused.status, refused.headers.get("x-balancer")], [503, "no gateway is ready"]);
    for (const gateway of [a, b]) gateway.isReady = true;
    await eventually("they are back", () => balancer.ready() === 2);
  });

  test("keeps a gateway that answers one readiness check late, and drops it after a second late answer in a row", async (t) => {
    const clock = manualClock();
    const gateway = await StandIn.start("c");
    const hasty = await startBalancer({ gateways: () => [gateway], lateMs: 1_000, clock });
    t.after(async () => {
      await hasty.close();
      gateway.close();
    });
    const look = async (): Promise<void> => {
      const looks = gateway.looks;
      clock.advance(READINESS_CHECK_EVERY_MS);
      await eventually("the gateway is asked", () => gateway.looks > looks);
    };
    const late = async (): Promise<void> => {
      await look();
      clock.advance(1_000);
      await turn();
    };
    assert.equal(hasty.ready(), 1);
    gateway.isSilent = true;
    await late();
    assert.equal(hasty.ready(), 1, "late once");
    await late();
    assert.equal(hasty.ready(), 0, "late twice");
    gateway.isSilent = false;
    await look();
    await eventually("the answer is read", () => hasty.ready() === 1);
  });

  test("never repeats a request that was sent, and cuts the connection of a partial answer", async () => {
    const asked = a.requests + b.requests;
    const broken = await post("/breaks", "x");
    assert.deepEqual([broken.status, broken.headers.get("x-balancer")], [502, "the gateway broke off"]);
    await assert.rejects(async () => await (await post("/cut", "x")).text());
    assert.equal(a.requests + b.requests, asked + 2);
  });

  test("skips a gateway that refuses the connection, and sends the body to the next gateway", async () => {
    a.refuse();
    assert.deepEqual(await servedBy(4), new Set(["b"]));
    assert.equal(await (await post("/", "the body")).text(), "the body");
  });
});
