import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { manualClock } from "../base/testing.ts";
import { limitUnreadAnswers } from "./unread-answers.ts";

const MIB = 1024 * 1024;
/** An answer larger than the system's socket buffers. */
const ANSWER = Buffer.alloc(24 * MIB, "x");

async function open(t: TestContext, bytesMax?: number) {
  const clock = manualClock();
  let answered = 0;
  const server = createServer((_request, response) => {
    response.end(ANSWER);
    answered += 1;
  });
  const unread = limitUnreadAnswers(server, { clock, ...(bytesMax !== undefined && { bytesMax }) });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  /** Sends a request. Its client reads nothing until the test resumes the socket. */
  const ask = async (): Promise<{ socket: Socket }> => {
    const due = answered + 1;
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").pause();
    t.after(() => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await eventually("it is answered", () => answered === due);
    return { socket };
  };
  const connections = (): Promise<number> =>
    new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))));
  return { clock, unread, ask, connections };
}

test("the limit on unread answers applies to all slow clients together, and closes the oldest clients first", async (t) => {
  const { unread, ask, connections } = await open(t, 3 * ANSWER.length);
  for (let i = 0; i < 6; i++) {
    await ask();
    assert.ok(unread.bytes <= 3 * ANSWER.length, `${unread.bytes} bytes after ${i + 1} answers`);
  }
  assert.ok(unread.bytes > 0);
  await eventually("the oldest are closed", async () => (await connections()) <= 3);
});

test("a client that reads nothing for 10 s is closed, and one that reads slowly is not", async (t) => {
  const { clock, unread, ask, connections } = await open(t);
  await ask();
  const { socket: slow } = await ask();
  let read = 0;
  let due = 0;
  slow.on("data", (chunk) => {
    read += chunk.length;
    if (read >= due) slow.pause();
  });
  slow.pause();
  for (let second = 0; second < 15; second++) {
    due = read + MIB;
    slow.resume();
    await eventually("some is read", () => read >= due);
    clock.advance(1_000);
    if (second === 5) assert.equal(await connections(), 2);
  }
  await eventually("the idle one is closed", async () => (await connections()) === 1);
  due = Number.POSITIVE_INFINITY;
  slow.resume();
  await eventually("the slow one has all of it", () => read > ANSWER.length);
  await eventually("nothing is left", () => unread.bytes === 0);
});
