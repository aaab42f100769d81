import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { manualClock } from "../base/testing.ts";
import { fault } from "../faults.ts";
import { makeTestHttpOptions } from "../routes/testing/http-options.ts";
import { createHttpCall, type OpenCall } from "./http-call.ts";
import { runHandler } from "./run-handlers.ts";

/** Sends one request with a raw socket to a handler. The client reads the answer only when the test calls `read`. */
async function request(
  t: TestContext,
  clock: typeof systemClock,
  handle: (call: OpenCall) => Promise<void>,
  { version = "1.1", headers = "" }: { version?: string; headers?: string } = {},
) {
  const server: Server = createServer(
    (request, response) =>
      void runHandler(createHttpCall(makeTestHttpOptions({ clock }), { request, response }), handle),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const socket: Socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  t.after(() => socket.destroy());
  socket.on("error", () => socket.destroy());
  socket.write(`GET / HTTP/${version}\r\nhost: x\r\n${headers}\r\n`);
  let seen = "";
  const read = (until: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!seen.includes(until)) return;
        socket.off("data", take);
        resolve(seen);
      };
      const take = (text: string): void => {
        seen += text;
        look();
      };
      socket.setEncoding("utf8").on("data", take);
      socket.once("close", () => reject(new Error(`closed before ${until}: ${seen}`)));
      look();
    });
  return { socket, read };
}

test("a stream sends its headers immediately, and joins the events of one event-loop turn in one write", async (t) => {
  const writes: string[] = [];
  const { read } = await request(t, systemClock, async ({ reply, request: { socket } }) => {
    const write = socket.write.bind(socket) as (chunk: string) => boolean;
    socket.write = ((chunk: string) => {
      writes.push(String(chunk));
      return write(chunk);
    }) as typeof socket.write;
    reply.openStream();
    await new Promise((resolve) => setImmediate(resolve));
    for (const text of ["one", "two", "three"]) reply.event(text);
    await new Promise((resolve) => setImmediate(resolve));
    reply.event("[DONE]");
    reply.endStream();
  });
  const answer = await read("[DONE]");
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(answer, /data: one\n\ndata: two\n\ndata: three\n\n/);
  assert.equal(writes.filter((chunk) => chunk.includes("data: one")).length, 1);
  assert.ok(writes.some((chunk) => chunk.includes("data: one") && chunk.includes("data: three")));
});

test("a stream declares a chunk's size in bytes, and a pipelined answer is sent after the previous one", async (t) => {
  const calls: OpenCall[] = [];
  const both = Promise.withResolvers<void>();
  const { socket, read } = await request(t, systemClock, async (call) => {
    call.reply.openStream();
    if (calls.push(call) === 2) both.resolve();
  });
  socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  await both.promise;
  const [first, second] = calls;
  second?.reply.event("second");
  await new Promise((resolve) => setImmediate(resolve));
  first?.reply.event("größer 😀");
  first?.reply.endStream();
  second?.reply.event("third");
  second?.reply.endStream();
  const answers = await read("third\n\n\r\n0\r\n\r\n");
  assert.equal(answers.match(/HTTP\/1\.1 200 OK/g)?.length, 2);
  const bytes = Buffer.byteLength("data: größer 😀\n\n").toString(16);
  assert.ok(answers.includes(`\r\n${bytes}\r\ndata: größer 😀\n\n\r\n0\r\n\r\nHTTP/1.1 200 OK`), answers);
  assert.match(answers, /data: second\n\n\r\n[\s\S]*data: third/);
});

test("a stream to an HTTP/1.0 client has no chunked encoding", async (t) => {
  const handle = async ({ reply }: OpenCall): Promise<void> => {
    reply.openStream();
    reply.event("one");
    reply.endStream();
  };
  const { read } = await request(t, systemClock, handle, { version: "1.0" });
  assert.match(await read("data: one\n\n"), /\r\n\r\ndata: one\n\n$/);
});

test("a stream sends a keep-alive comment every 5 s while it is idle, and none while it is active", async (t) => {
  const clock = manualClock();
  const opened = Promise.withResolvers<OpenCall>();
  const { read } = await request(t, clock, async (call) => {
    call.reply.openStream();
    opened.resolve(call);
  });
  const { reply } = await opened.promise;
  clock.advance(4_000);
  reply.event("early");
  await read("early");
  clock.advance(4_000);
  reply.event("late");
  assert.doesNotMatch(await read("late"), /keep-alive\n/);
  clock.advance(4_999);
  reply.event("later");
  assert.doesNotMatch(await read("later"), /keep-alive\n/);
  clock.advance(5_000);
  await read(": keep-alive\n\n");
  clock.advance(5_000);
  reply.event("[DONE]");
  reply.endStream();
  const answer = await read("[DONE]");
  assert.equal(answer.match(/: keep-alive\n\n/g)?.length, 2);
  assert.doesNotMatch(answer, /: ping/);
});

test("a stream that opens after its client disconnected starts no timer", async (t) => {
  const clock = manualClock();
  let timers = 0;
  const counting = {
    ...clock,
    after: (delayMs: number, run: () => void) => {
      timers += 1;
      return clock.after(delayMs, run);
    },
  };
  const arrived = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const { socket } = await request(t, counting, async ({ reply, cancelSignal }) => {
    arrived.resolve();
    await new Promise<void>((resolve) => cancelSignal.addEventListener("abort", resolve));
    timers = 0;
    reply.openStream();
    opened.resolve();
  });
  await arrived.promise;
  socket.destroy();
  await opened.promise;
  clock.advance(60_000);
  assert.equal(timers, 0);
});

test("a stream closes the connection of a client that does not read, once the buffer is full", async (t) => {
  const ended = Promise.withResolvers<number>();
  const { socket } = await request(t, systemClock, async ({ reply, cancelSignal }) => {
    reply.openStream();
    const event = "x".repeat(64 * 1024);
    let sent = 0;
    while (!cancelSignal.aborted && sent < 1000) {
      reply.event(event);
      sent += 1;
      await new Promise((resolve) => setImmediate(resolve));
    }
    ended.resolve(sent);
  });
  socket.pause();
  const sent = await ended.promise;
  assert.ok(sent < 1000, "it was closed");
  assert.ok(sent * 64 * 1024 > 1024 * 1024, "not before its buffer was full");
});

test("a failed stream is closed after 10 s if its client does not read the last event", async (t) => {
  const clock = manualClock();
  const ended = Promise.withResolvers<void>();
  const failed = Promise.withResolvers<void>();
  const { socket } = await request(t, clock, async ({ reply, request }) => {
    request.socket.once("close", () => ended.resolve());
    reply.openStream();
    // More than the system's socket buffer takes, and less than the gateway's own limit for unread data.
    const event = "x".repeat(256 * 1024);
    while (request.socket.writableLength < event.length) {
      reply.event(event);
      await new Promise((resolve) => setImmediate(resolve));
    }
    reply.fault(fault("upstream_failed"));
    failed.resolve();
  });
  socket.pause();
  await failed.promise;
  clock.advance(10_000);
  await ended.promise;
});

test("a failed stream to a web page stays open for 200 ms, so that the browser reads the last event", async (t) => {
  const clock = manualClock();
  const headers = "origin: https://app.example\r\n";
  const connection = Promise.withResolvers<Socket>();
  const streamed = await request(
    t,
    clock,
    async ({ reply, request }) => {
      connection.resolve(request.socket);
      reply.openStream();
      throw fault("upstream_failed");
    },
    { headers },
  );
  await streamed.read("upstream_failed");
  const atGateway = await connection.promise;
  clock.advance(199);
  assert.equal(atGateway.writable, true);
  clock.advance(1);
  assert.equal(atGateway.writable, false);
  if (!streamed.socket.closed) await once(streamed.socket, "close");
});

test("an error is sent as the HTTP status, or as the stream's last event if the headers have been sent", async (t) => {
  const streamed = await request(t, systemClock, async ({ reply }) => {
    reply.openStream();
    throw fault("upstream_failed");
  });
  let answer = "";
  streamed.socket.setEncoding("utf8").on("data", (text: string) => {
    answer += text;
  });
  await once(streamed.socket, "close");
  assert.match(answer, /data: \{"error":\{"message":"[^"]+","type":"upstream_failed","code":"upstream_failed"\}\}/);
  assert.doesNotMatch(answer, /\[DONE\]/);
  assert.ok(answer.endsWith("}}\n\n\r\n"), "the connection closes without the last chunk");

  const whole = await request(t, systemClock, async () => {
    throw new Error("a secret of ours");
  });
  const refused = await whole.read("}}");
  assert.match(refused, /^HTTP\/1\.1 500/);
  assert.match(refused, /"code":"internal_error"/);
  assert.match(refused, /Include the request ID in a report: req_/);
  assert.doesNotMatch(refused, /a secret of ours/);
});
