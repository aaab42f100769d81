/** How the public server handles malformed or incomplete requests, and clients that disconnect. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { eventually, HANG_LIMIT_MS, hangSignal } from "@tollgate/stage/wait.ts";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock, waitOneTurn } from "../base/testing.ts";
import { noTracing } from "../base/tracing.ts";
import { InFlightRequests } from "../inference/in-flight.ts";
import { openRequestLogger } from "../inference/request-log.ts";
import type { RequestPathDependencies } from "../inference/request-path-dependencies.ts";
import { openRequestWaits } from "../inference/request-waits.ts";
import { openMemoryLimits } from "../limits/in-memory-limits.ts";
import { openAiRoutes } from "../routes/openai/routes.ts";
import { makeTestHttpOptions } from "../routes/testing/http-options.ts";
import type { OpenCall } from "./http-call.ts";
import { streamResponse } from "./run-handlers.ts";
import { createServerWithoutRoutes } from "./server.ts";
import { answerUnknownPaths } from "./unknown-paths.ts";

/** Timeouts that are longer than these tests take on any machine. */
const PATIENT = { headersMs: HANG_LIMIT_MS, everyMs: 10 };
const CHAT = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n";

interface Door {
  clock: ManualClock;
  port: number;
  /** The call object of `GET /stream`. */
  stream: Promise<OpenCall>;
  /** The call object of `GET /whole`, and the function that answers it. */
  whole: Promise<{ call: OpenCall; answer: () => void }>;
  /** Whether the account has credit. */
  credit: { has: boolean };
  /** Resolves when the headers of another request have arrived. */
  next: () => Promise<void>;
  /** Resolves when bytes have arrived that are not a valid request. */
  broken: Promise<void>;
  /** Sets the time that headers have to arrive, also for headers that are arriving already. */
  giveUpAfter: (ms: number) => void;
  /** The server's side of the first connection. */
  connection: Promise<Socket>;
  /** Tells the server, as Node does, that the time for this connection's headers is over. */
  lateHeaders: (connection: Socket) => void;
}

/** Opens a server with the public API. Its gateway allows one request at a time, and has a ledger without holds. */
async function open(t: TestContext): Promise<Door> {
  const clock = manualClock();
  const door = makeTestHttpOptions({ clock });
  const overrides = { requestsPerMinute: null, tokensPerMinute: null, inFlight: 1 };
  const holder = { id: "a-key" as Uuid, accountId: "an-account" as Uuid, name: "a key", overrides };
  const limits = openMemoryLimits({ clock });
  const credit = { has: true };
  const gateway = {
    keys: { authenticate: async (header: string | undefined) => (header === undefined ? holder : undefined) },
    limits,
    requestWaits: openRequestWaits({ clock, log: createLog("silent") }),
    inFlight: new InFlightRequests(),
    refusals: { record: async () => {} },
    watch: { refused: () => {} },
    requestLogger: openRequestLogger({ log: createLog("silent"), clock, tracing: noTracing }),
    unfunded: { count: () => {} },
    refusedCalls: { note: () => {} },
    requestAttempts: { note: () => {} },
    ledger: {
      hasCredit: () => credit.has,
      hold: () => assert.fail("nothing is held for a request that never came"),
    },
  } as unknown as RequestPathDependencies;
  const app = createServerWithoutRoutes(door, { patience: PATIENT });
  const finish = answerUnknownPaths(app);
  openAiRoutes(app, { gateway, base64Compat: false });
  const stream = Promise.withResolvers<OpenCall>();
  app.get("/stream", async (request, reply) => {
    await streamResponse(request, reply, async (call) => {
      call.reply.openStream();
      stream.resolve(call);
      await new Promise<void>((resolve) => reply.raw.once("close", resolve));
    });
  });
  const whole = Promise.withResolvers<Awaited<Door["whole"]>>();
  app.get("/whole", async (request, reply) => {
    await streamResponse(request, reply, async (call) => {
      await new Promise<void>((resolve) => whole.resolve({ call, answer: resolve }));
      call.reply.json(200, '{"whole":true}');
    });
  });
  finish();
  const event = (name: string) => new Promise<void>((resolve) => app.server.once(name, () => resolve()));
  const broken = event("clientError");
  const connection = new Promise<Socket>((resolve) => app.server.once("connection", resolve));
  await app.listen({ port: 0, host: "127.0.0.1" });
  t.after(async () => {
    app.server.closeAllConnections();
    await app.close();
    await limits.close();
  });
  const { port } = app.server.address() as AddressInfo;
  const giveUpAfter = (ms: number): void => {
    Object.assign(app.server, { headersTimeout: ms });
  };
  const lateHeaders = (connection: Socket): void => {
    app.server.emit("clientError", Object.assign(new Error(), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), connection);
  };
  const next = () => event("request");
  const [streamed, answered] = [stream.promise, whole.promise];
  return { clock, port, stream: streamed, whole: answered, credit, next, broken, giveUpAfter, connection, lateHeaders };
}

interface Client {
  socket: Socket;
  /** The data that the client has received. */
  text: () => string;
  /** Resolves when the server closes its side of the connection. */
  ended: Promise<void>;
  closed: Promise<void>;
}

/** A client that never closes its side of the connection by itself. */
function client(t: TestContext, port: number): Client {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let text = "";
  socket.setEncoding("utf8").on("data", (more: string) => {
    text += more;
  });
  const ended = new Promise<void>((resolve) => socket.once("end", resolve));
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  // Ignores errors, because some tests write to a closed connection.
  socket.on("error", () => socket.destroy());
  t.after(() => socket.destroy());
  return { socket, text: () => text, ended, closed };
}

/** Sends a byte from time to time, until `check` returns true. */
const trickle = (what: string, socket: Socket, byte: string, check: () => boolean): Promise<true> =>
  eventually(what, () => {
    if (check()) return true;
    socket.write(byte);
    return false;
  });

const statuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));
const post = async (port: number): Promise<number> =>
  (await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, { method: "POST", body: "no JSON" })).status;

test("a request with an absolute URL or a query gets the same answer as one with a plain path", async (t) => {
  const { port } = await open(t);
  /** The whole response to one request, without the parts that differ between requests. */
  const told = async (address: string, more: string): Promise<string> => {
    const { socket, text, ended } = client(t, port);
    socket.write(`POST ${address} HTTP/1.1\r\nconnection: close\r\n${more}content-length: 7\r\n\r\nno JSON`);
    await ended;
    return text()
      .replaceAll(/req_\w{26}/g, "req")
      .replace(/remaining-requests: \d+/, "")
      .replace(/Date: .*/, "");
  };
  for (const [more, status, words] of [
    ["host: x\r\n", 400, /must be valid JSON/],
    ["host: x\r\nauthorization: Bearer nobody\r\n", 401, /API key/],
    ["host: x\r\ncontent-encoding: gzip\r\n", 415, /gzip/],
    ["", 400, /must have a Host header/],
  ] as const) {
    const direct = await told("/v1/chat/completions", more);
    assert.deepEqual(statuses(direct), [status]);
    assert.match(direct, /\r\nx-request-id: req\r\n/);
    assert.match(direct, words);
    assert.equal(direct, await told("/v1/chat/completions?a=b", more));
  }
});

test("the server refuses headers that arrive too slowly, and closes the connection", async (t) => {
  const { clock, port, giveUpAfter } = await open(t);
  const { socket, text, ended } = client(t, port);
  giveUpAfter(100);
  socket.write(`${CHAT}x-slow: `);
  await trickle("it is refused", socket, "a", () => text() !== "");
  await ended;
  assert.deepEqual(statuses(text()), [408]);
  assert.match(text(), /\r\nx-request-id: req_/);
  assert.match(text(), /"error":\{"message":"The request took too long to arrive\.","type":"invalid_request_error"\}/);
  clock.advance(2_000);
  await trickle("the connection is cut", socket, "a", () => socket.destroyed);
});

test("the server answers headers that arrived in time but were not read yet when the time was over", async (t) => {
  const { connection, lateHeaders, port } = await open(t);
  const { socket, text, ended } = client(t, port);
  const accepted = await connection;
  // Node checks the time before the event loop reads from connections, so this waits for that point.
  await waitOneTurn();
  // The system has all bytes before the next line, and the server reads none of them.
  socket.write("GET /nowhere HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  lateHeaders(accepted);
  await ended;
  assert.deepEqual(statuses(text()), [404]);
});

test("the server refuses a body that arrives too slowly, and no longer counts the request as in flight", async (t) => {
  const { clock, port, next } = await open(t);
  const { socket, text, ended } = client(t, port);
  const arrived = next();
  socket.write(`${CHAT}content-length: 100000\r\n\r\n{`);
  await arrived;
  assert.equal(await post(port), 429, "its slot is taken");
  await trickle("it is refused", socket, " ", () => {
    clock.advance(1_000);
    return text() !== "";
  });
  await ended;
  assert.deepEqual(statuses(text()), [408]);
  clock.advance(2_000);
  await trickle("the connection is cut", socket, " ", () => socket.destroyed);
  assert.equal(await post(port), 400, "its slot is free");
});

test("a request whose body breaks off or is malformed no longer counts as in flight", async (t) => {
  const { clock, port, next } = await open(t);
  const leaver = client(t, port).socket;
  let arrived = next();
  leaver.write(`${CHAT}content-length: 1000\r\n\r\n{`);
  await arrived;
  assert.equal(await post(port), 429);
  leaver.destroy();
  const breaker = client(t, port);
  const status = await eventually("the server has noticed, and the slot is free", async () => {
    const status = await post(port);
    return status !== 429 && status;
  });
  assert.equal(status, 400);
  arrived = next();
  breaker.socket.write(`${CHAT}transfer-encoding: chunked\r\n\r\n1\r\n{\r\n`);
  await arrived;
  assert.equal(await post(port), 429);
  breaker.socket.write("no chunk\r\n");
  await breaker.ended;
  assert.deepEqual(statuses(breaker.text()), [400]);
  clock.advance(2_000);
  breaker.socket.end();
  await breaker.closed;
  assert.equal(await post(port), 400);
});

test("malformed bytes after a request do not get into its streamed answer", async (t) => {
  const { port, stream, broken } = await open(t);
  const { socket, text, ended } = client(t, port);
  socket.write("GET /stream HTTP/1.1\r\nhost: x\r\n\r\n");
  const { reply } = await stream;
  reply.event("one");
  socket.write("\0\0 no request\r\n\r\n");
  await broken;
  reply.event("two");
  reply.endStream();
  await ended;
  assert.deepEqual(statuses(text()), [200]);
  assert.match(text(), /data: one\n\n.*data: two\n\n.*\r\n0\r\n\r\n$/s);
});

test("a request that is followed by malformed bytes gets its own answer, and a malformed body only one error", async (t) => {
  const { port } = await open(t);
  const pipelined = client(t, port);
  pipelined.socket.write("GET /v1/nothing HTTP/1.1\r\nhost: x\r\n\r\n\0\0");
  await pipelined.ended;
  assert.deepEqual(statuses(pipelined.text()), [404]);
  const refused = client(t, port);
  refused.socket.write(`${CHAT}authorization: x\r\ntransfer-encoding: chunked\r\n\r\n`);
  while (statuses(refused.text()).length === 0) await once(refused.socket, "data", { signal: hangSignal() });
  refused.socket.write("no chunk\r\n");
  await refused.ended;
  assert.deepEqual(statuses(refused.text()), [401]);
});

test("malformed bytes after an answered request get an error", async (t) => {
  const { port } = await open(t);
  const { socket, text, ended } = client(t, port);
  socket.write("GET /v1/nothing HTTP/1.1\r\nhost: x\r\n\r\n");
  while (!text().includes("}}")) await once(socket, "data", { signal: hangSignal() });
  socket.write("BREW /v1/nothing HTTP/1.1\r\n\r\n");
  await ended;
  assert.deepEqual(statuses(text()), [404, 400]);
});

for (const [name, bytes, status] of [
  ["no Host header", "GET /v1/models HTTP/1.1\r\n\r\n", 400],
  ["CONNECT", "CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n", 405],
  ["endless headers", `GET / HTTP/1.1\r\nhost: x\r\nx: ${"x".repeat(20_000)}\r\n\r\n`, 431],
  ["an unknown method", "BREW / HTTP/1.1\r\nhost: x\r\n\r\n", 400],
] as const) {
  test(`${name}: returns ${status}, with the error envelope and a request ID`, async (t) => {
    const { port } = await open(t);
    const { socket, text } = client(t, port);
    socket.write(bytes);
    while (!text().includes("}}")) await once(socket, "data", { signal: hangSignal() });
    assert.deepEqual(statuses(text()), [status]);
    assert.match(text(), /\r\nx-request-id: req_[0-9a-z]{26}\r\n/);
    assert.match(text(), /"type":"invalid_request_error"/);
  });
}

/** Sends a request with Expect: 100-continue, and waits for the first bytes of the answer. */
async function asked(t: TestContext, port: number, line: string, ...headers: string[]): Promise<Client> {
  const one = client(t, port);
  one.socket.write(`${[line, "host: x", "expect: 100-continue", ...headers].join("\r\n")}\r\n\r\n`);
  while (one.text() === "") await once(one.socket, "data", { signal: hangSignal() });
  return one;
}

test("a request with Expect: 100-continue and invalid headers is refused, and its connection closed", async (t) => {
  const { port, credit, next } = await open(t);
  const refused = async (status: number, line: string, ...headers: string[]): Promise<void> => {
    const one = await asked(t, port, line, ...headers);
    await one.ended;
    assert.deepEqual(statuses(one.text()), [status]);
    assert.match(one.text(), /\r\nconnection: close\r\n/i);
  };
  const post = "POST /v1/chat/completions HTTP/1.1";
  await refused(404, "POST /v1/nowhere HTTP/1.1", "content-length: 5");
  await refused(405, "PUT /v1/chat/completions HTTP/1.1", "content-length: 5");
  await refused(401, post, "content-length: 5", "authorization: Bearer x");
  await refused(413, post, "content-length: 99999999");
  await refused(415, post, "content-length: 5", "content-encoding: gzip");
  credit.has = false;
  await refused(402, post, "content-length: 5");
  credit.has = true;
  const arrived = next();
  const { socket } = client(t, port);
  socket.write(`${CHAT}content-length: 1000\r\n\r\n{`);
  await arrived;
  await refused(429, post, "content-length: 5");
});

test("a request with Expect: 100-continue gets 100 Continue when its body is needed, and keeps its connection", async (t) => {
  const { port } = await open(t);
  const one = await asked(t, port, "POST /v1/chat/completions HTTP/1.1", "content-length: 2");
  assert.equal(one.text(), "HTTP/1.1 100 Continue\r\n\r\n");
  one.socket.write("no");
  while (!one.text().includes("}")) await once(one.socket, "data", { signal: hangSignal() });
  one.socket.write("GET /v1/nothing HTTP/1.1\r\nhost: x\r\n\r\n");
  while (!one.text().includes("This path does not exist")) await once(one.socket, "data", { signal: hangSignal() });
  assert.deepEqual(statuses(one.text()), [100, 400, 404]);
});

test("a client that half-closed its connection gets a stream to the end", async (t) => {
  const { port, stream } = await open(t);
  const { socket, text, ended } = client(t, port);
  socket.end("GET /stream HTTP/1.1\r\nhost: x\r\n\r\n");
  const { reply, request, cancelSignal } = await stream;
  await eventually("the server knows", () => request.socket.readableEnded);
  reply.event("one");
  await waitOneTurn();
  reply.event("two");
  reply.endStream();
  await ended;
  assert.match(text(), /data: one\n\n.*data: two\n\n.*\r\n0\r\n\r\n$/s);
  assert.equal(cancelSignal.aborted, false);
});

test("a client that half-closed its connection gets a whole answer, however long it takes", async (t) => {
  const { clock, port, whole } = await open(t);
  const { socket, text, ended } = client(t, port);
  socket.end("GET /whole HTTP/1.1\r\nhost: x\r\n\r\n");
  const { call, answer } = await whole;
  await eventually("the server knows", () => call.request.socket.readableEnded);
  clock.advance(2_500);
  answer();
  await ended;
  assert.equal(call.cancelSignal.aborted, false);
  assert.deepEqual(statuses(text()), [...Array(6).fill(100), 200], "four times at once, then every second");
  assert.match(text(), /\{"whole":true\}$/);
});

for (const path of ["/stream", "/whole"]) {
  test(`the server notices a disconnected client soon: ${path}`, async (t) => {
    const { clock, port, stream, whole } = await open(t);
    const { socket } = client(t, port);
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
    const call = path === "/stream" ? await stream : (await whole).call;
    socket.destroy();
    await eventually(
      "the server has read the end",
      () => call.request.socket.readableEnded || call.cancelSignal.aborted,
    );
    // The first write to the closed connection causes a reset, which the next write notices.
    await eventually("the call is cancelled", () => {
      clock.advance(1_000);
      return call.cancelSignal.aborted;
    });
  });
}
