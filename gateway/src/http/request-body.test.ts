import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { after, before, describe, type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import { eventually } from "@tollgate/stage/wait.ts";
import { manualClock, waitOneTurn } from "../base/testing.ts";
import { makeTestHttpOptions, makeTestLargeBodies } from "../routes/testing/http-options.ts";
import { openBodyBudget } from "./body-budget.ts";
import { createHttpCall } from "./http-call.ts";
import { BODY_BYTES_MAX, JSON_VALUES_MAX, parseJson } from "./request-body.ts";
import { runHandler } from "./run-handlers.ts";
import { createServerWithoutRoutes } from "./server.ts";

const door = makeTestHttpOptions();

/** Memory for one large body per payer, and for two in total. */
const [GATEWAY_BYTES, PAYER_BYTES] = [200_000, 100_000];

describe("memory for large bodies", () => {
  const budget = openBodyBudget({ gatewayBytesMax: GATEWAY_BYTES, payerBytesMax: PAYER_BYTES });
  const tight = { ...door, bodies: { ...makeTestLargeBodies(), budget } };
  /** Requests whose body was read, and which the test will answer. */
  const read: { payer: string; answer: () => void }[] = [];
  const server = createServer((request, response) =>
    runHandler(createHttpCall(tight, { request, response }), async (call) => {
      const payer = String(request.headers["x-payer"]);
      const body = await call.readBody(payer);
      if (request.headers["x-keeps"] !== undefined) body.keep(Number(request.headers["x-keeps"]));
      await new Promise<void>((resolve) => read.push({ payer, answer: resolve }));
      call.reply.json(200, "{}");
    }),
  );
  let port: number;
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    port = (server.address() as AddressInfo).port;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const send = (payer: string, bytes: number, { chunked = false, keeps = "" } = {}): Promise<Response> => {
    const headers = { "x-payer": payer, ...(keeps !== "" && { "x-keeps": keeps }) };
    const body = chunked ? ReadableStream.from([Buffer.alloc(bytes)]) : Buffer.alloc(bytes);
    return fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers, body, duplex: "half" } as RequestInit);
  };
  const refused = async (answer: Promise<Response>): Promise<void> => {
    const response = await answer;
    const { error } = (await response.json()) as { error: { code: string } };
    assert.deepEqual([response.status, error.code], [503, "no_capacity"]);
    assert.deepEqual([response.headers.get("retry-after"), response.headers.get("x-should-retry")], ["1", "true"]);
  };
  const untilRead = async (count: number): Promise<void> => {
    await eventually(`${count} requests were read`, () => read.length >= count);
  };
  const answerAll = async (...sent: Promise<Response>[]): Promise<void> => {
    for (const { answer } of read.splice(0)) answer();
    for (const answer of sent) assert.equal((await answer).status, 200);
    assert.equal(budget.bytes, 0, "and the room is free again");
  };

  for (const chunked of [false, true]) {
    test(`is limited per payer and in total, and not reserved for small bodies: ${chunked ? "chunked" : "declared"}`, async () => {
      const one = send("a", 100_000, { chunked });
      await untilRead(1);
      assert.equal(budget.bytes, 100_000);
      await refused(send("a", 70_000, { chunked }));
      const other = send("b", 90_000, { chunked });
      await untilRead(2);
      await refused(send("c", 70_000, { chunked }));
      const small = send("c", 65_536, { chunked });
      await untilRead(3);
      await answerAll(one, other, small);
    });
  }

  test("is reserved for a declared length before any byte arrives, and refused immediately when full", async () => {
    const slow = connect(port, "127.0.0.1");
    slow.write("POST / HTTP/1.1\r\nhost: x\r\nx-payer: a\r\ncontent-length: 100000\r\n\r\n");
    await eventually("the first has its room", () => budget.bytes > 0);
    const late = connect(port, "127.0.0.1");
    let answer = "";
    late.setEncoding("utf8").on("data", (text: string) => {
      answer += text;
    });
    late.write("POST / HTTP/1.1\r\nhost: x\r\nx-payer: a\r\ncontent-length: 100000\r\n\r\n");
    await eventually("the second is answered", () => answer.includes("}}"));
    assert.match(answer, /^HTTP\/1\.1 503 /);
    late.destroy();
    slow.destroy();
    await eventually("the room is free", () => budget.bytes === 0);
  });

  test("is available to other requests once a body is released, even if its request continues", async () => {
    const one = send("a", 100_000, { keeps: "10000" });
    await untilRead(1);
    assert.equal(budget.bytes, 10_000);
    const two = send("a", 90_000);
    await untilRead(2);
    await answerAll(one, two);
  });
});

describe("a slow body", () => {
  /** Sends a body of `bytes` with `perSecond` bytes per second of the test's clock, and returns the response. */
  async function arrive(t: TestContext, { bytes, perSecond, seconds }: Record<string, number>) {
    const clock = manualClock();
    const served = Promise.withResolvers<IncomingMessage>();
    const server = createServer((request, response) => {
      served.resolve(request);
      void runHandler(createHttpCall(makeTestHttpOptions({ clock }), { request, response }), async (call) => {
        const { pieces } = await call.readBody("a payer");
        call.reply.json(200, JSON.stringify(pieces.reduce((sum, piece) => sum + piece.length, 0)));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    t.after(() => {
      socket.destroy();
      server.closeAllConnections();
      server.close();
    });
    let text = "";
    socket.setEncoding("utf8").on("data", (more: string) => {
      text += more;
    });
    socket.on("error", () => socket.destroy());
    const head = `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${bytes}\r\n\r\n`;
    socket.write(head);
    const request = await served.promise;
    let sent = head.length;
    for (let second = 0; second < (seconds as number) && text === ""; second++) {
      const part = Math.min(perSecond as number, head.length + (bytes as number) - sent);
      sent += part;
      if (part > 0) socket.write("x".repeat(part));
      await eventually("it has come", () => text !== "" || request.socket.bytesRead === sent);
      await waitOneTurn();
      clock.advance(1_000);
      await waitOneTurn();
    }
    return { text: () => text, clock };
  }

  test("is read without a time limit while bytes arrive steadily", async (t) => {
    const { text } = await arrive(t, { bytes: 1_000_000, perSecond: 9_000, seconds: 120 });
    await eventually("it is answered", () => text() !== "");
    assert.match(text(), /^HTTP\/1\.1 200 [\s\S]*\r\n1000000$/);
    assert.equal(
      createServerWithoutRoutes(makeTestHttpOptions()).server.requestTimeout,
      0,
      "no limit on the whole of a request",
    );
  });

  for (const [how, perSecond, seconds] of [
    ["at less than 8 KiB a second", 1_000, 40],
    ["not at all for 15 s", 0, 16],
  ] as const) {
    test(`is refused when it arrives ${how}`, async (t) => {
      const { text } = await arrive(t, { bytes: 1_000_000, perSecond, seconds });
      await eventually("it is refused", () => text().includes("}}"));
      assert.match(text(), /^HTTP\/1\.1 408 /);
      assert.match(text(), /"message":"The request took too long to arrive\.","type":"invalid_request_error"/);
      assert.match(text(), /connection: close/i);
    });
  }
});

describe("a request body", () => {
  const echo: RequestListener = (request, response) =>
    void runHandler(createHttpCall(door, { request, response }), async (call) => {
      call.checkDeclaredLength();
      const body = (await call.readBody("a payer")).json();
      call.reply.json(200, JSON.stringify({ length: JSON.stringify(body).length }));
    });
  const server = createServer(echo);
  let port: number;
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    port = (server.address() as AddressInfo).port;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const post = (
    body: string | Uint8Array<ArrayBuffer> | ReadableStream,
    headers: Record<string, string> = {},
  ): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}/`, { method: "POST", body, headers, duplex: "half" } as RequestInit);
  /** Sends raw bytes, and returns all that the server answers until it closes the connection or stops answering. */
  const raw = (head: string, chunks: Iterable<Buffer | string>): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, "127.0.0.1");
      let answer = "";
      socket.setEncoding("utf8").on("data", (text: string) => {
        answer += text;
        if (answer.includes("}}")) socket.end();
      });
      socket.on("error", (error: NodeJS.ErrnoException) =>
        error.code === "EPIPE" || error.code === "ECONNRESET" ? undefined : reject(error),
      );
      socket.on("close", () => resolve(answer));
      socket.write(head);
      for (const chunk of chunks) socket.write(chunk);
    });
  const status = (answer: string): number => Number(answer.split(" ")[1]);

  test("of exactly the maximum size is read, and with one more byte is refused", async () => {
    const exact = JSON.stringify("x".repeat(BODY_BYTES_MAX - 2));
    assert.equal((await post(exact)).status, 200);
    const response = await post(`${exact} `);
    assert.equal(response.status, 413);
    assert.deepEqual(((await response.json()) as { error: { code: string } }).error.code, "request_too_large");
  });

  test("with a declared length above the maximum is refused before any byte arrives", async () => {
    const answer = await raw(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${BODY_BYTES_MAX + 1}\r\n\r\n`, []);
    assert.equal(status(answer), 413);
  });

  test("that exceeds the maximum in chunks gets 413, while the client is still sending", async () => {
    const megabyte = Buffer.alloc(1024 * 1024, 0x20);
    const chunk = Buffer.concat([Buffer.from("100000\r\n"), megabyte, Buffer.from("\r\n")]);
    const answer = await raw("POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n", Array(14).fill(chunk));
    assert.equal(status(answer), 413);
    assert.match(answer, /request_too_large/);
    assert.doesNotMatch(answer.split("\r\n\r\n")[0] as string, /connection: close/i);
    const stream = new ReadableStream({
      start(controller) {
        for (let i = 0; i < 12; i++) controller.enqueue(megabyte);
        controller.close();
      },
    });
    assert.equal((await post(stream)).status, 413);
  });

  test("that never ends makes the gateway close the connection", async () => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => socket.destroy());
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${1e12}\r\n\r\n`);
    const megabyte = Buffer.alloc(1024 * 1024);
    const pump = (): void => {
      if (!socket.destroyed && socket.write(megabyte)) setImmediate(pump);
    };
    socket.on("drain", pump).resume();
    pump();
    await new Promise((resolve) => socket.once("close", resolve));
  });

  for (const [name, body, headers, expected, message] of [
    ["compressed", gzipSync("{}"), { "content-encoding": "gzip" }, 415, /compressed/],
    ["not UTF-8", Buffer.from([0x22, 0xff, 0x22]), {}, 400, /UTF-8/],
    ["not JSON", "{", {}, 400, /valid JSON/],
    ["empty", "", {}, 400, /valid JSON/],
    ["nested too deep", "[".repeat(5_000_000), {}, 400, /nested/],
    ["more values than any request has", `[${"0,".repeat(JSON_VALUES_MAX)}0]`, {}, 400, /values/],
    ["more fields than any request has", `{${'"":0,'.repeat(JSON_VALUES_MAX)}"":0}`, {}, 400, /values/],
    ["commas inside a string", JSON.stringify(",".repeat(JSON_VALUES_MAX)), {}, 200, /length/],
    ["brackets inside a string", JSON.stringify("[".repeat(100)), {}, 200, /length/],
    ["an escaped quote before brackets", JSON.stringify(`"\\${"[".repeat(100)}`), {}, 200, /length/],
  ] as [string, Buffer<ArrayBuffer> | string, Record<string, string>, number, RegExp][]) {
    test(`${name}: ${expected}`, async () => {
      const response = await post(body, headers);
      assert.equal(response.status, expected);
      assert.match(await response.text(), message);
      assert.match(response.headers.get("x-request-id") ?? "", /^req_/);
    });
  }
});

test("the limit on JSON values does not count the contents of strings, even with quotes and backslashes", () => {
  const parts = ['"', "\\", ",", "[", "{", "é", "x".repeat(15), "y".repeat(40), '\\"'];
  let state = 1;
  const below = (max: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % max;
  };
  for (let round = 0; round < 2_000; round++) {
    const texts = Array.from({ length: 1 + below(5) }, () =>
      Array.from({ length: below(9) }, () => parts[below(parts.length)]).join(""),
    );
    const bytes = Buffer.from(JSON.stringify(texts));
    // The list counts as one value, and so does each comma, thus each text after the first.
    const values = 1 + texts.length;
    assert.deepEqual(parseJson(bytes, values), texts);
    assert.throws(() => parseJson(bytes, values - 1), /values/, bytes.toString());
  }
  for (const broken of [
    '["',
    '["\\',
    '["\\"',
    `["${"x".repeat(50)}`,
    `["${"x".repeat(31)}\\`,
    `["${"x".repeat(50)}\\"`,
  ]) {
    assert.throws(() => parseJson(Buffer.from(broken)), /valid JSON/, broken);
  }
});

describe("a client that disconnects before its body is read", () => {
  for (const [name, sent] of [
    ["in the middle of the body", "12345"],
    ["after the whole body arrived", "1234567890"],
  ]) {
    test(`${name}: the gateway fails the read instead of waiting`, async (t) => {
      const ended = Promise.withResolvers<string>();
      const server = createServer((request, response) => {
        const call = createHttpCall(door, { request, response });
        request.once("close", () =>
          Promise.resolve(call.readBody("a")).then(
            () => ended.resolve("read"),
            (error: Error) => ended.resolve(error.message),
          ),
        );
        client.destroy();
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      t.after(() => server.close());
      const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
      client.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n${sent}`);
      assert.equal(await ended.promise, "The connection closed before the whole body arrived.");
    });
  }
});
