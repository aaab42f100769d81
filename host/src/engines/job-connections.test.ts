import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { ManualClock } from "../testing/manual-clock.ts";
import { JobConnections, type JobRequest, type ReaderDemand } from "./job-connections.ts";

const HI = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
const never = new AbortController().signal;

interface RawServer {
  url: string;
  connections: Socket[];
  /** The data received on each connection. */
  received: string[];
}

/** A server that replies to each complete request with bytes that the test sends. */
async function rawServer(t: TestContext, answer: (socket: Socket, request: string) => void): Promise<RawServer> {
  const connections: Socket[] = [];
  const received: string[] = [];
  const server = createServer((socket) => {
    const index = connections.push(socket) - 1;
    received[index] = "";
    let request = "";
    socket.on("error", () => {});
    socket.setEncoding("utf8").on("data", (text: string) => {
      received[index] += text;
      request += text;
      const [head = "", body] = request.split("\r\n\r\n");
      const length = Number(/content-length: (\d+)/.exec(head)?.[1]);
      if (body === undefined || Buffer.byteLength(body) < length) return;
      answer(socket, request);
      request = "";
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of connections) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, connections, received };
}

/** Resolves when the socket is closed. */
function closedOf(socket: Socket | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (socket?.closed) resolve();
    else socket?.once("close", () => resolve());
  });
}

/** Collects the sockets that this process opens from now on. */
function dialled(t: TestContext): Socket[] {
  const sockets: Socket[] = [];
  const note = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket);
  subscribe("net.client.socket", note);
  t.after(() => unsubscribe("net.client.socket", note));
  return sockets;
}

interface Asked {
  body?: string;
  signal?: AbortSignal;
  wish?: (text: string) => ReaderDemand;
}

/** Sends a request. Returns the response and how it ended. */
async function ask(http: JobConnections, { body = "{}", signal = never, wish = () => "more" }: Asked = {}) {
  let status = 0;
  let text = "";
  const answered: JobRequest["answered"] = (head) => {
    status = head.status;
    return (bytes) => {
      text += bytes.toString("utf8");
      return wish(text);
    };
  };
  const end = await http.post({ path: "/v1/x", body, signal, answered });
  return { status, text, end };
}

test("sends exactly the expected request bytes", async (t) => {
  const server = await rawServer(t, (socket) => socket.write(HI));
  const http = new JobConnections(`${server.url}/engine`, { authorization: "Bearer k" }, new ManualClock());
  assert.deepEqual(await ask(http, { body: '{"a":"é"}' }), { status: 200, text: "hi", end: "over" });
  assert.equal(
    server.received[0],
    `POST /engine/v1/x HTTP/1.1\r\nhost: ${new URL(server.url).host}\r\nauthorization: Bearer k\r\ncontent-type: application/json\r\nconnection: keep-alive\r\ncontent-length: 10\r\n\r\n{"a":"é"}`,
  );
});

test("refuses a header value that would add another header", () => {
  assert.throws(() => new JobConnections("http://127.0.0.1", { authorization: "Bearer a\r\nx: y" }, new ManualClock()));
});

test("reuses a connection while its server keeps it open, for one request at a time", async (t) => {
  const server = await rawServer(t, (socket, request) => {
    const head = request.includes('"short"') ? HI.replace("\r\n", "\r\nkeep-alive: timeout=2, max=9\r\n") : HI;
    socket.write(head);
  });
  const clock = new ManualClock();
  const http = new JobConnections(server.url, {}, clock);
  for (let i = 0; i < 3; i++) await ask(http);
  assert.equal(server.connections.length, 1);
  await Promise.all([ask(http), ask(http)]);
  assert.equal(server.connections.length, 2);
  clock.freeze(3_999);
  await ask(http, { body: '"short"' });
  assert.equal(server.connections.length, 2, "they rested for less than four seconds");
  clock.freeze(1_000);
  await ask(http);
  assert.equal(server.connections.length, 3, "the one rested a second and the other more than four");
});

test("closes idle connections", async (t) => {
  const server = await rawServer(t, (socket) => socket.write(HI));
  const clock = new ManualClock();
  await ask(new JobConnections(server.url, {}, clock));
  const closed = closedOf(server.connections[0]);
  clock.advance(5_000);
  await closed;
  assert.equal(clock.nextInMs, undefined, "and nothing is looked after any more");
});

for (const [name, spoil] of [
  ["is closed", (socket: Socket) => void socket.end()],
  ["is reset", (socket: Socket) => void socket.resetAndDestroy()],
  ["receives data without a request", (socket: Socket) => void socket.write("HTTP/1.1 408 Timeout\r\n\r\n")],
] as const) {
  test(`does not reuse an idle connection that ${name}`, async (t) => {
    const server = await rawServer(t, (socket) => socket.write(HI));
    const http = new JobConnections(server.url, {}, new ManualClock());
    const clients = dialled(t);
    await ask(http);
    const [socket] = server.connections as [Socket];
    assert.equal(clients.length, 1);
    const closed = closedOf(clients[0]);
    spoil(socket);
    await closed;
    assert.deepEqual(await ask(http), { status: 200, text: "hi", end: "over" });
    assert.equal(server.connections.length, 2);
  });
}

for (const [name, answer] of [
  ["announces that it closes", HI.replace("\r\n", "\r\nconnection: close\r\n")],
  ["sends more than its response", `${HI}!`],
] as const) {
  test(`does not reuse a connection whose server ${name}`, async (t) => {
    const server = await rawServer(t, (socket) => socket.write(answer));
    const http = new JobConnections(server.url, {}, new ManualClock());
    for (let i = 0; i < 2; i++) assert.equal((await ask(http)).text, "hi");
    assert.equal(server.connections.length, 2);
  });
}

test("closes the connection when the response arrives before the request was sent completely", async (t) => {
  const server = createServer((socket) => {
    // The server reads nothing, so most of the request is not sent.
    socket.pause().on("error", () => {});
    t.after(() => socket.destroy());
    socket.write(HI.replace("200", "413"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const connections: Socket[] = [];
  server.on("connection", (socket: Socket) => connections.push(socket));
  const http = new JobConnections(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {}, new ManualClock());
  const body = "x".repeat(32 * 1024 * 1024);
  for (let i = 0; i < 2; i++) assert.deepEqual(await ask(http, { body }), { status: 413, text: "hi", end: "over" });
  assert.equal(connections.length, 2);
});

test("fails the request if the connection ends before the response, and reports a response that breaks off", async (t) => {
  let answer = "";
  const server = await rawServer(t, (socket) => socket.end(answer));
  const http = new JobConnections(server.url, {}, new ManualClock());
  for (answer of ["", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\nx: y\r\n"])
    await assert.rejects(ask(http), { code: "ECONNRESET" });
  answer = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nhi";
  assert.deepEqual(await ask(http), { status: 200, text: "hi", end: "broken" });
  answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\nx";
  assert.deepEqual(await ask(http), { status: 200, text: "hi", end: "broken" });
  answer = "HTTP/1.0 200 OK\r\n\r\nhi";
  assert.deepEqual(await ask(http), { status: 200, text: "hi", end: "over" });
  answer = "220 mail.example ESMTP\r\n\r\n";
  await assert.rejects(ask(http), { name: "MalformedAnswer" });
});

test("reports a response without a length as broken if its connection is reset", async (t) => {
  const server = await rawServer(t, (socket) => socket.write("HTTP/1.0 200 OK\r\n\r\nhi"));
  const http = new JobConnections(server.url, {}, new ManualClock());
  const wish = (): ReaderDemand => {
    server.connections[0]?.resetAndDestroy();
    return "more";
  };
  assert.deepEqual(await ask(http, { wish }), { status: 200, text: "hi", end: "broken" });
});

test("stops a response when its reader wants no more, and fails the request when the reader throws", async (t) => {
  const server = await rawServer(t, (socket) => socket.write("HTTP/1.1 200 OK\r\n\r\nhi"));
  const http = new JobConnections(server.url, {}, new ManualClock());
  assert.equal((await ask(http, { wish: () => "cut" })).end, "cut");
  const oops = new Error("oops");
  const wish = (): ReaderDemand => {
    throw oops;
  };
  await assert.rejects(ask(http, { wish }), oops);
  for (const socket of server.connections) await closedOf(socket);
  assert.equal(server.connections.length, 2);
});

test("cancels a request while it connects, before the response, or during the response", async (t) => {
  const server = await rawServer(t, (socket, request) => {
    if (request.includes("answer")) socket.write("HTTP/1.1 200 OK\r\n\r\nhi");
    else waiting.resolve();
  });
  const waiting = Promise.withResolvers<void>();
  const http = new JobConnections(server.url, {}, new ManualClock());
  const cut = new AbortController();
  const early = ask(http, { signal: cut.signal });
  cut.abort();
  await assert.rejects(early, /connection closed/);
  await assert.rejects(ask(http, { signal: cut.signal }));
  const late = new AbortController();
  const unanswered = ask(http, { signal: late.signal });
  await waiting.promise;
  late.abort();
  await assert.rejects(unanswered, /connection closed/);
  const within = new AbortController();
  const wish = (): ReaderDemand => {
    within.abort();
    return "more";
  };
  assert.equal((await ask(http, { body: '"answer"', signal: within.signal, wish })).end, "broken");
});

test("reads the rest of a response that is no longer needed for up to one second, within a size limit", async (t) => {
  let more = "";
  const server = await rawServer(t, (socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\nhi");
    socket.write(more);
  });
  const clock = new ManualClock();
  const http = new JobConnections(server.url, {}, clock);
  const wish = (): ReaderDemand => "enough";
  assert.equal((await ask(http, { wish })).end, "enough");
  clock.advance(1_000);
  await closedOf(server.connections[0]);
  // This is more than one read contains, and more than the limit for unread data.
  more = "x".repeat(200_000);
  assert.equal((await ask(http, { wish })).end, "enough");
  await closedOf(server.connections[1]);
  assert.equal(server.connections.length, 2);
});

test("stops connecting at the timeout", async () => {
  const clock = new ManualClock();
  // An address reserved for documentation. On a machine without a route to it, connecting fails at once.
  const asked = ask(new JobConnections("http://192.0.2.1:9", {}, clock));
  clock.advance(10_000);
  await assert.rejects(asked);
});
