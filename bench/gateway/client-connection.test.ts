import assert from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { ClientConnection } from "./client-connection.ts";
import { nowUs } from "./process-resource-usage.ts";

const REQUEST = Buffer.from("POST / HTTP/1.1\r\n\r\n");
const chunked = (...parts: string[]): string =>
  `${parts.map((part) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`).join("")}0\r\n\r\n`;
const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const wholeAnswer = 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"a":1}\n';

/**
 * Starts a server that answers each request with the next of these texts, sent in pieces of `cutEvery` bytes. For null
 * it closes the connection.
 */
async function served(t: TestContext, answers: (string | null)[], cutEvery = Number.POSITIVE_INFINITY) {
  const server = createServer((socket: Socket) => {
    socket.setNoDelay(true);
    socket.on("data", async () => {
      const answer = answers.shift();
      if (answer == null) return socket.destroy();
      for (let at = 0; at < answer.length; at += cutEvery) {
        await new Promise((written) => socket.write(answer.slice(at, at + cutEvery), written));
      }
      if (answer.startsWith("HTTP/1.0")) socket.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  const ages: number[] = [];
  const connection = new ClientConnection(address.port, (ageUs) => ages.push(ageUs));
  await connection.open();
  t.after(() => {
    connection.close();
    server.close();
  });
  return { connection, ages };
}

for (const cutEvery of [1, 7, Number.POSITIVE_INFINITY]) {
  test(`a client connection reads consecutive answers that arrive in pieces of ${cutEvery} bytes`, async (t) => {
    const stream = streamHead + chunked("data: a\n\ndata: b\n", "\ndata: [DO", "NE]\n\n");
    const { connection } = await served(t, [wholeAnswer, stream, wholeAnswer], cutEvery);
    assert.partialDeepStrictEqual(await connection.ask(REQUEST), { status: 200, events: 0, failure: undefined });
    assert.partialDeepStrictEqual(await connection.ask(REQUEST), { status: 200, events: 3, blanks: 3, done: true });
    assert.partialDeepStrictEqual(await connection.ask(REQUEST), { status: 200, failure: undefined });
  });
}

test("a client connection fails on a status other than 200, and if it is closed within an answer", async (t) => {
  const refusal = "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 2\r\n\r\n{}";
  const { connection } = await served(t, [refusal, null]);
  assert.equal((await connection.ask(REQUEST)).failure, "status 429");
  assert.equal((await connection.ask(REQUEST)).failure, "closed");
  assert.equal(connection.isOpen, false);
  assert.equal((await connection.ask(REQUEST)).failure, "not connected");
});

test("a client connection is opened again immediately when the server closes it after an answer", async (t) => {
  const closing = wholeAnswer.replace("\r\n", "\r\nConnection: close\r\n");
  const { connection } = await served(t, [closing, closing, wholeAnswer]);
  for (let i = 0; i < 3; i++) {
    if (!connection.isOpen) await connection.open();
    assert.equal((await connection.ask(REQUEST)).failure, undefined);
  }
});

test("a client connection treats its close as the end of an answer without a length", async (t) => {
  const { connection } = await served(t, ["HTTP/1.0 200 OK\r\n\r\nall of it"]);
  assert.equal((await connection.ask(REQUEST)).failure, undefined);
});

test("a client connection computes the age of an event from the timestamp in the event's text", async (t) => {
  const stamp = (nowUs() - 5000).toString(36);
  const { connection, ages } = await served(t, [streamHead + chunked(`data: {"content":" @${stamp}"}\n\n`)]);
  await connection.ask(REQUEST);
  assert.equal(ages.length, 1);
  assert.ok((ages[0] as number) >= 5000);
});
